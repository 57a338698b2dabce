"""The compiled reader where it is easily wrong: corners of headers, links, tags, words and bodies, each by name."""

from __future__ import annotations

import base64
import quopri

import pytest
from tests.mail.fuzzing import Compiled, Heard, difference, held_by

pytestmark = pytest.mark.skipif(Compiled is None, reason="the mail reader is not compiled here")

FROM = b"From: Ann <ann@a.example>\nTo: bob@b.example\nSubject: hello\nDate: Mon, 1 Jan 2024 10:00:00 +0100\n"
PAGE = FROM + b"Content-Type: text/html; charset=utf-8\n\n"
TEXT = FROM + b"Content-Type: text/plain; charset=utf-8\n\n"

ADDRESSES = [
    "a@b.c", "<a@b.c>", "Ann Lee <ann@a.example.co.uk>", '"Lee, Ann" <ann@a.example>', "ann", "", "@", "a@", "@b.c",
    "a@b@c.d", "a@b.c, d@e.f; g@h.i", "<<a@b.c>>", "a@10.1.2.3", "a@[10.1.2.3]", "A@B.C", "mailto:a@b.c", "mailto",
    "(comment) a@b.c", "a.@b..c.", "a@.b", "a@-b-", "a'b@c.d", "a@b_c.d", "x" * 80 + "@y.z", "x" * 81 + "@y.z",
    "x@" + "y" * 80, "x@" + "y" * 81 + ".z", "x@" + "y." * 60, ", ".join(f"a{i}@b.c" for i in range(12)),
    "a@b.c " * 200, "word " * 50, "x" * 990 + " a@b.c", "=?utf-8?q?J=C3=B6rg?= <j@x.y>", "=?utf-8?q?a=40b.c?=",
    "Jörg <jörg@müller.example>", "a@b.c\n\td@e.f", "undisclosed-recipients:;", "a@b.c\x0bd", "a\x1cb@c.d",
    "a@b\xa0c", "--- <a@b.c>", "x", "ab-'_ <a@b.c>", "a" * 21 + " <a@b.c>", "don't.'em <a@b.c>", "@" * 127, "@" * 200,
]  # fmt: skip

SUBJECTS = [
    "", " ", "hello", "Re: Re: AW: hello", "FREE MONEY NOW", "FREE MONEY", "FREE money NOW", "ABC-DEF GHI'JKL M_N",
    "A1B 2CD 345", "$9.99", "$ 9.99", "$1,000,000.00!", "$$$", "$.5", "$5.", "$" + "9" * 20, "50%", "50 %", "5.5%",
    "100,%", "%", "%%", "1234567890%", "!!", "!", "?", "?!", "??", "??!!", "!!!!!!!!!!!!", "hello!!world??", "£5",
    "€ 9,99", "¥700", "50\xa0%", "٣٤%", "$٣", "今天天气", "สวัสดี", "a\u200bb", "\u200b", "ﬁne", "İstanbul",
    "straße GROSSE", "é", "=?utf-8?q?caf=C3=A9?=", "=?utf-8?b?5LuK5aSp?=", "=?utf-8?q?FREE?= =?utf-8?q?MONEY?=",
    "=?x?y?z?=", "=?", "?=", "a-b -a- 'b' _c_ --", "q" * 20, "q" * 21, "Q" * 20, "Q" * 21, "q" * 200, "q" * 201,
    "word " * 41, "WORD " * 45, "a\tb", "a\n b", "a\n\tb\n c", "a\x0bb", "a\x0cb", "a\x1fb", "a\x7fb", "a\x00b",
    "x@y.z", "http://a.b/c", "[list] (x) {y}", "ABC\x1cDEF GHI", "word+word", "_" * 30, "'" * 30, "9" * 30,
    "x" * 8180 + " A BC DEF", "x" * 8192, "y" * 8193,
]  # fmt: skip

RECEIVED = [
    "from a.b.example by c.d; Mon, 1 Jan 2024", "from a (b.example [192.0.2.7]) by c", "from [192.0.2.7] by c",
    "from localhost by c", "from LOCALHOST by c", "from a by localhost", "from a.b by c with IMAP", "by c with SMTP",
    "", "from a.b.c by d (fetchmail-5.9.0)", "from a.b.c by d with POP3", "from unknown (HELO x.y) (10.1.2.3) by z",
    "from unknown by z", "from 10.1.2.3 by x", "from 172.15.1.1 by x", "from 172.16.1.1 by x", "from 172.31.1.1 by x",
    "from 172.32.1.1 by x", "from 192.168.0.1 by x", "from 127.0.0.1 by x", "from 999.1.1.1 by x", "from 1.2.3 by x",
    "from 1.2.3.4.5 by x", "from a.b1 by x", "from a..b by x", "from .a.b. by x", "from [::1] by x",
    "from a.b c.d e.f g.h i.j k.l by x", "FROM a.b.c BY d", "from a.b.c  by  d", "from a.b.c\n\tby d\n\tfor <e@f.g>",
    "from " + "x" * 90 + ".y by z", "from " + "x." * 90 + "y by z", "from " + "a" * 480 + " b.c by d",
    "from a.b" + " " * 600, "from =?utf-8?q?a=2Eb?= by c", "from ä.b by c", "from a.b\x0bc by d",
    "from x (helo=y.z) by w", "(qmail 123 invoked)", "from a.b.c by d with esmtp (Exim) id 1-2",
    "from a.b.c by d" + "e" * 60 + "localhost", "from\ta.b by c", "frog a.b by c",
    *(f"from {'x' * n} unknown by z" for n in range(80, 110)),
    "from 1.2.3.4 5.6.7.8 9.10.11.12 13.14.15.16 17.18.19.20 by x", "from a_b.c by d", "from a-b.c- by d",
    "from a.b. by c",
]  # fmt: skip

OTHER_HEADERS = [
    "X-Mailer: Microsoft Outlook 5.50.4133", "X-Mailer: " + "a1 " * 20, "X-Mailer: -_-", "X-Mailer: " + "z" * 300,
    "User-Agent: Mutt/1.5.23 (2014-03-12)", "User-Agent: ünï 1.2", "X-MimeOLE: Produced By V5.5",
    "X-Mailer: 1.2.3.4.", "X-Priority: 1 (Highest)", "X-Priority:", "Importance: High  and  low",
    "X-MSMail-Priority: " + "n" * 40, "Message-ID: <1.2@a.b.example>", "Message-ID: <>", "Message-ID: a@b@c.d ",
    "Message-ID: <x@" + "y." * 90 + "z>", "Message-ID: <1@10.1.2.3>", "Message-ID: <1@[10.1.2.3]>",
    "message-id : <1@A.B>", "Message-ID: no at",
    *(f"Message-ID: <{'a' * n}@{'abcdefghij.' * 15}{'b' * n}>" for n in range(3)),
    "Authentication-Results: spf=abcdefghijklmnop; dkim=abcdefghijkl dmarc=abcdefghijklm",
    "Date: Mon, 1 Jan 2024 10:00:00 -0500 (EST)", "Date: today",
    "Date: +12345", "Date: -0500x", "Date: +010 +0100", "Date:", "List-Id: A list <a-list.example.org>",
    "List-Unsubscribe: <mailto:x@y.z>", "Precedence: bulk", "Errors-To: x@y.z", "X-BeenThere: a'b-c@d.e",
    "List-Id: " + "w " * 200, "X-Loop: " + "x" * 25, "Mailing-List: contact x; run by ezmlm",
    "Authentication-Results: mx.x; spf=pass dkim=fail DMARC=None", "Authentication-Results: xspf=pass dkim-adsp=ok",
    "Authentication-Results: spf=abcdefghijklmnop arc=_ iprev= spf==x dkim=é", "Received-SPF: Pass (x: y) z",
    "Received-SPF:", "DKIM-Signature: v=1; d=a.b.example; s=x", "DKIM-Signature: d=a.b", "DKIM-Signature: bd=a; d= b",
    "DKIM-Signature: v=1;\n\td=c.d", "DKIM-Signature: d=" + "x" * 85 + "; d=y",
    "DKIM-Signature: " + "a=b; " * 200 + "d=z.y", "Reply-To: ann@a.example", "Reply-To: eve@a.example",
    "Reply-To: eve@e.example", "Reply-To: nobody", "Sender: x@y.z", "Cc: a@b.c, d@e.f", "To: second@to.example",
    "From: second@from.example", "Subject: second", "X-Spam-Flag: YES", "Status: RO", "X-Own: some words",
    "Url: http://a.b", "X-" + "n" * 37 + ": x", "X-" + "n" * 38 + ": x", "X-" + "n" * 39 + ": x",
    "X-" + "n" * 100 + ": x", ": nameless", "no colon", "X Y: z", "X-É: z", "X-\x7f: z", "X-Tab\t: z",
    "X-Folded\n : z", "From x Mon Jan 1", ">From x", "Content-Type: text/plain",
    "CONTENT-TYPE: TEXT/PLAIN; CHARSET=UTF-8", "Content-Type: =?utf-8?q?text/html?=", "Content-Type: x",
    "Content-Type: text/plain; charset*=utf-8''utf-8", "Content-Type: text/plain; format=flowed",
    "Content-Type: text/html; a=b;;", "Content-Type: text/plain; name=a.txt",
    "Content-Disposition: attachment; filename=a.exe", "Content-Disposition: inline",
    "Content-Disposition: attachment; filename*=utf-8''%C3%A9.pdf", "Content-Transfer-Encoding:  8BIT ",
    "Content-Type:  ;x",
]  # fmt: skip

LINKS = [
    "http://a.example", "https://www.a.example.com/path/to/page.html?query=value&x=12345678#place",
    "ftp://f.example/pub", "HTTP://A.EXAMPLE/ABC", "www.a.example", "WWW.A.EXAMPLE", "Www.a.example",
    "http://a.b:8080/", "http://a.b:80808/", "http://a.b:8080801/", "http://a.b:/", "http://a.b:x/",
    "http://user@a.b/", "http://user:pass@a.b:81/", "http://@a.b", "http://a@b@c.d/", "http://1.2.3.4/",
    "http://1.2.3.4:80/x", "http://123456789/", "http://1.2.3/", "http://1.2.3.4.5/", "http://%61.%62/",
    "http://a.b/%41%42%43", "http://a.b/%zz%", "http://a.b/%2", "http://a.b/%80%FF", "http://a.b/%00",
    "http://a.b/%20c", "http://a.b%2Fc", "http://a.b%3A99/", "http://a.b/%C3%A9", "mailto:a@b.c",
    "mailto:a@b.c?subject=x", "mailto:", "MAILTO:A@B.C.D.E", "http:///x", "http://", "https://?", "://x",
    "xhttp://a.b", "x.www.a.b", "@www.a.b", "(http://a.b/c).", "<http://a.b>", '"http://a.b"', "http://a.b'c",
    "http://a.b\\c", "http://a.b/c...", "http://a.b,http://c.d", "http://a.b http://c.d", "http://a.b/é",
    "http://é.b/", "éhttp://a.b", "éwww.a.b", "é www.a.b", "http://a.b\xa0c", "http://a.b\u3000c", "http://a.b今天",
    "http://a.b/" + "/".join("abcdefghij"[i] * 3 for i in range(10)), "http://a.b/" + "1234567" * 3,
    "http://a.b/ab/abc/" + "x" * 21 + "/" + "y" * 20, "http://" + "a." * 60, "http://" + "h" * 50 + ".example/",
    "http://a.b/" + "x" * 980, "http://a.b/" + "x" * 1000, "http://a.b/" + "x" * 1200 + " rest",
    "http://a.b/" + "p" * 190, "http://-a-.b_c/", "http://a..b/", "http://.a.b./", "http://[::1]/",
    "http://a.b/\x0bc", "http://a.b\x1cc", "http://a.b#c", "http://a.b?c=d", "javascript:alert(1)",
    "data:text/html,x", "cid:abc", "//a.b/c", "/path/only", "#place", "?query", "abcdefghijklmnopq:x", "a+b.c-d:x",
    "http:a.b", "tel:+123", "\thttp://a.b\t", "http://a.b\n/c", "httpshttp://a.b", "https ://a.b", "http://a.b?!",
    "http://a.b!!", "see http://a.b/$9.99/50%", "$5http://a.b", "50%www.a.b", "!!www.a.b!!", "sftp://a.b",
    "http://a.b:80:81/",
]  # fmt: skip

WORDS = [
    "", " ", "tea", "Tea TEA tea", "a", "ab", "it's 'tis o'clock'", "x-y -x -- ---", "under_score _x_",
    "3.14 1,000 12:30", "q" * 20, "q" * 21, "q" * 29, "q" * 30, "q" * 200, "q" * 201, "q" * 300, "-" * 300, "q-" * 99,
    "-" * 200 + "ab", "ab" + "-" * 199, "$9.99 $10 $ 5 $\t5 $  5 $a $.5 $5. $5,000.50 $1234567890123456789",
    "£5 €5 ¥5 €9,99 £ 7 ¥\t8 £\xa09", "US$5 5$", "$" * 20,
    "50% 50 % 50\t% 50  % .5% 5.% 1,5% x5% 5%% 123456789% 1234567890% 12.34,56% %50", "50\xa0% 50\u2009%",
    "٣% ३% $٣ €३", "!! !!! !? ?! ?? ???!!! !!!!!!!!!! !", "no!!yes??no", "!!\n??", "!" * 5000, "$1 " * 501 + "$2",
    "1% " * 501 + "2%", "!! " * 600, "naïve café Ünïcode", "ß ẞ İ ı ﬁ Å Ⅷ ½", "Привет мир", "Καλημέρα ΣΑΣ ς",
    "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "今天天气很好", "今", "a今b天c", "東京タワー",
    "カタカナ・ひらがな", "한국어 단어",
    "สวัสดีครับ", "ລາວ", "ខ្មែរ", "မြန်မာ", "𠀀𠀁𠀂", "ze\u200bro wi\u200cdth", "\ufeffbom", "so\xadft", "\u200b\u200b",
    "a\u2060b", "\u202eright", "e\u0301 a\u0323\u0301", "\u0301", "‘quoted’ “double” don’t — dash – en…",
    "hard\xa0space\u2003wide\u3000full", "line\u2028sep\u2029par\x85next", "full！？width（）ＡＢＣ１２",
    "emoji 😀👍🏽 ❤️",
    "\ufffd\ufffe", "\U0010ffff", "a\x0bb\x0cc\x1cd\x1de\x1ef\x1fg", "tab\tcr\rlf\n", "nul\x00in\x00side", "del\x7f",
    "@#&*()+=[]{}|;:,.<>/`~^", "a@b.c x.y.z a/b", "'" * 201, "_a" * 101, "é" * 20, "é" * 21, "é" * 100, "é" * 101,
    "ﷺ" * 15, "ﷺ", "x" + "\u0301" * 50, "İ" * 12, "ŉ" * 20, "ΐ" * 10, "Ǆ ǅ", "K Å Ω", "ſt ﬆ", "ª º", "² ³ ¹", "٠١٢",
    "Ａ" * 25, "-é-", "'é'", "é'", "_",
]  # fmt: skip

TAGS = [
    "<p>x</p>", "<P>X</P>", "<p", "<p<b>", "<>", "< p>", "</>", "</p", "<!x>", "<?php x ?>", "<1>", "<p/>",
    "<br/>x<br />y", "a<b>c</b>d", "a<p>c</p>d", "<averyveryveryverylongnameofthirtyone1>x", "<a-b:c_d>x", "<é>x",
    "<bé>x", "<b\xa0c=d>x", "<p =x>", "<p x= y=z>", "<a href=http://a.b/c>x</a>", '<a href="http://a.b/c">x</a>',
    "<a href='http://a.b/c'>x</a>", "<a href = 'http://a.b'>", '<a href="http://a.b', "<A HREF=HTTP://A.B>",
    "<a href=x href=y>", "<a href=#x>", "<a href=' #x'>", "<a href=''>", "<a href>", "<a href=mailto:a@b.c>",
    "<a href=MailTo:a@b.c>", "<a src=mailto:a@b.c>", "<a href='&#109;ailto:a@b.c'>",
    "<a href='http://a.b/?x=1&amp;y=2&copy=3'>", "<a href='http://a.b/&#x41;'>", "<img src=http://a.b/x.gif>",
    "<form action=http://a.b/go>", "<td background=http://a.b/y.gif>", "<a xhref=z>", "<a data-href=z>",
    "<a 1href=z>", "<img width=1 height=1>", "<img width=0 height='1'>", "<img width=1>", "<img width=01 height=1>",
    "<p width=1 height=1>", "<img width=' 1' height=1>", "<img alt=logo>", "<img alt='two words'>", "<img alt=''>",
    "<img alt='&eacute;t&eacute;'>", "<img alt='é'>", "<img alt='" + "x" * 250 + "'>",
    "<img alt='" + "é" * 150 + "'>", "<p alt=x>y", "<img alt='http://a.b/c'>", "<img alt=x style='display:none'>",
    "<font size=7>", "<font size='+3'>", "<font size=0>x</font>", "<font size='0'>x</font>y", "<font size=' 1 2'>",
    "<font size=é>", "<font size=12345>", "<p size=9>", "<font size=''>", "<b onclick=x>",
    "<b onClick='x()' ONLOAD=y>", "<b on=x>", "<b o=x>", "<b onaveryveryverylongeventname=x>", "<b on-x=y>",
    "<b xon=y>", "<font color=red>", "<font color=#ff0000>", "<font color=ff0000>", "<font color=#f00>",
    "<font color=rgb(1,2,3)>", "<font color='RED '>", "<font color=nonsense>", "<body bgcolor=#000000>",
    "<td bgcolor=white>", "<p bgcolor=''>", "<p style='color:red;background-color:blue'>",
    "<p style='background:url(x)'>", "<p style='background: #123 url(x)'>", "<p style='COLOR : RED'>",
    "<p style='border-color:red'>", "<p style='color:" + "x" * 50 + "'>", "<p style=color:red>",
    "<p style=\"color:red;" + "x" * 400 + "\">", "<p style='é:é;color:red'>", "<p style>", "<p style=''>",
    "<form><input><select><option>x</select></form>", "<script>var x</script>y", "<script>a<b>c</script>d",
    "<style>p{}</style>y", "<style>p{}", "<script>", "</script>x", "<script src=x>y</script >z", "<style/>x",
    "<STYLE>a</STYLE>b", "<script>x</style>y</script>z", "<title>t</title><h1>h</h1>",
    "<table><tr><td>1</td><td>2</td></tr></table>", "<li>a<li>b",
    "<marquee><blink><center><iframe src=x><object><embed><applet>", "<p " + "y=z " * 1100 + "href=q>",
    "<p " + "x" * 4100 + "><b>", "<a href=" + "x" * 1100 + ">", "<a href='" + "é" * 1100 + "'>",
    "<p class='" + "c " * 30 + "' id=i>", "<ſtyle>x", "<p ſtyle=display:none>x", "<\u212abd>x", "<p\x0cclass=x>",
    "<p\x00style=y>", "<b\nstyle='x'\n>", "<a\thref=x>", "<p x='a>b'>c", "<p x=\"a<b\">c", "<p x='a\"b' y=\"c'd\">",
    "<p x=a'b>", "<p x=a\"b\" href=c>", "<p href==x>", "<p href=\"\"x>",
]  # fmt: skip

HIDDEN = [
    *(f"<{'n' * n}a style='opacity:0'>x</{'n' * n}b>y</{'n' * n}a>z" for n in (5, 9, 10, 11, 29, 30, 31)),
    "<p style='display:none'>poem</p>seen", "<p style='DISPLAY : NONE'>poem",
    "<div style=visibility:hidden>a<div>b</div>c</div>d", "<b style=opacity:0>x</b>y",
    "<b style='opacity:0.0'>x</b>y", "<b style='opacity:0.5'>x</b>y", "<b style='font-size:0'>x</b>y",
    "<b style='font-size:1px'>x</b>y", "<b style='font-size:10px'>x</b>y", "<b style='font-size:0.0em;'>x</b>",
    "<b style='mso-hide:all'>x</b>", "<b style='max-height:0'>x</b>y", "<br style='display:none'>x",
    "<img style='display:none'>x", "<p style='display:none'>a<p>b</p>c</p>d",
    "</p><p style='display:none'>a</b>b</p>c", "<p style='display:none'>http://a.b/c $5 !!</p>",
    "<p style='display:none'>&eacute;&nbsp;x</p>", "<p style='display:none'><img alt=logo>x</p>",
    "<p style='display:none'>今天</p>", "<p style='display:none'>" + "w" * 300 + " ab</p>",
    "<p style='display:none'></p>x", "<o:p style='display:none'>x</O:P>y",
    "<averyveryverylongname style='opacity:0'>x</averyveryverylongname>y",
    "<p style='display:none'><style>x</style>y</p>z", "<font color=white>ink</font>x",
    "<font color=#fffffe>ink</font>", "<font color=#efefef>ink</font>", "<font color=#eeeeee>ink</font>",
    "<body bgcolor=black><font color=black>ink", "<body bgcolor=black><font color=white>x",
    "<body text=white color=white>x", "<td bgcolor=red><font color=#ff0000>a</font></td><font color=red>b",
    "<p color=white>x</p>y", "<td background=x.gif><font color=white>x",
    "<div style='background:url(x)'><font color=white>x", "<div style='background-color:#000;color:#000'>x</div>y",
    "<table bgcolor=red><tr><td><font color=red>x</td></tr></table><font color=red>y",
    "<div bgcolor=red>" * 120 + "<font color=red>x", "</td><td bgcolor=red></td><font color=red>x",
    "<style>body{background:red}</style><font color=white>x", "<style>.a{display:none}</style><p class=a>x</p>y",
    "<style>#b{display:none}</style><p id=b>x</p>y", "<style>.a,.b{opacity:0}</style><p class='c b'>x</p>y",
    "<style>p.a{display:none}</style><p class='A'>x</p>y", "<style>.a b{display:none}</style><p class=a>x",
    "<style><!--.a{display:none}--></style><p class=a>x</p>y",
    "<style>@media x{.a{display:none}}</style><p class=a>x</p>y", "<style>/*.a{display:none}*/</style><p class=a>x",
    "<style>.a{display:none}</style><style>.b{opacity:0}</style><p class=b>x</p><p class=a>y",
    "<!--<style>.a{display:none}</style>--><p class=a>x", "<style>.é{display:none}</style><p class=é>x</p>y",
    "<style>.a{display:none}", "<p class=a>x</p><style>.a{display:none}</style>",
    "<style>" + "x{} " * 20_000 + ".a{display:none}</style><p class=a>x",
    "".join(f"<p color=#{i:06x} bgcolor=#{0x808080 + i:06x}>" for i in range(40)) + "x",
]  # fmt: skip

SIGNS = [
    "&amp;", "&AMP", "&lt;b&gt;x", "&nbsp;", "&nbsp", "&NBSP;", "a&nbsp;b", "&#160;", "&#160", "&#1601;",
    "&#65;&#x42;&#X43;", "&#65", "&#", "&#x", "&;", "&", "&&amp;", "&eacute;t&eacute", "&notit;", "&notin;",
    "&copy=3", "&copy", "&unknown;", "&#0;", "&#128;", "&#150;", "&#xD800;", "&#x110000;", "&#99999999999;",
    "&#8203;", "fr&shy;ee", "&zwnj;x", "&hearts;", "&CounterClockwiseContourIntegral;", "&acE;", "&fjlig;", "&euro;5",
    "&pound;5", "&dollar;5", "5&percnt;", "&excl;&excl;", "http://a.b/?x&amp;y", "&Aacute;" * 50, "&" * 500,
    "&a" * 500, "&#" * 500, "&#x41" * 100, "a&#13;b", "&#9;&#10;&#12;", "&#28;x&#31;",
    "<p>&lt;p style='display:none'&gt;x", "<!-- x -->", "a<!--b-->c", "a<!-->b", "a<!--->b", "a<!--b--!>c", "a<!--b",
    "a<!--b->c-->d", "<!-- <p style='display:none'> -->x", "<!--" * 50, "a<!--é-->b", "<!-><!- -><!---->x",
    "<!-" + "-" * 100 + ">x", "<p <!--x-->y>z", "<script><!--x--></script>y",
]  # fmt: skip


def head_of(line: str) -> bytes:
    return FROM + line.encode() + b"\nX-Last: line\n\nbody text\n"


def multipart(*parts: bytes) -> bytes:
    return FROM + b"Content-Type: multipart/mixed; boundary=x\n\n--x\n" + b"\n--x\n".join(parts) + b"\n--x--\n"


def encoded(how: bytes, body: bytes, kind: bytes = b"text/plain; charset=utf-8") -> bytes:
    return FROM + b"Content-Type: %s\nContent-Transfer-Encoding: %s\n\n%s" % (kind, how, body)


def words(n: int) -> bytes:
    return b" ".join(b"w%d" % i for i in range(n))


def many(n: int, form: bytes = b"http://h%d.example/ ") -> bytes:
    return b"".join(form % i for i in range(n))


OF_HEAD = len(held_by(TEXT).tokens)
ANCHOR, OTHER = b"<a href=http://h%d.example/>", b"<a class=x href=http://h%d.example/>"
COLOUR = b"<font color=#%06d>"
LEVEL = b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n"
CHARSETS = [
    "", "us-ascii", "UTF-8", "utf-7", "utf-16", "utf-16be", "iso-2022-jp", "iso-2022-kr", "hz", "gb2312", "koi8-r",
    "windows-1252", "cp037", "x-martian", "utf_8_sig", "idna", "rot13", "'", '"utf-8"', "us-ascii; x=y",
]  # fmt: skip
WRITTEN_IN = FROM + b"Content-Type: text/plain; charset=%s\n\n"
MIXED = b"gr\xfc\xdfe \xc3\xa9 \x1b$B%F\x1b(B +AOk- a\0b"
LONG = "Grüße: now $5, 50%!! http://a.b/c ".encode() * 30
WHOLE = {
    "nothing": b"", "a blank line": b"\n", "two": b"\n\n", "only a head": FROM, "a head that does not end": FROM[:-1],
    "no head": b"hello there\nyou", "a blank line first": b"\nSubject: x\n\nhello",
    "CRLF": (FROM + b"\nhello\nthere\n").replace(b"\n", b"\r\n"), "CR": (FROM + b"\nhello\n").replace(b"\n", b"\r"),
    "an envelope": b"From joe Mon Jan  1 10:00:00 2024\n" + FROM + b"\nhello",
    "a quoted envelope": b">From joe Mon\n" + FROM + b"\nhello",
    "NULs": (FROM + b"\nhel\0lo\0").replace(b"a", b"a\0"), "a page that says text": TEXT + b" <html><b>x</b></html>",
    "a page that says nothing": b"\n<!DOCTYPE HTML><p>x", "a text that says page": PAGE + b"just words",
    "uuencoded": TEXT + b"see\nbegin 644 a.exe\n#0V%T\n`\nend\nafter",
    "uuencoded at once": TEXT + b"begin 644 b b.txt\n#0V%T\n`\nend\n",
    "begin in a text": TEXT + b"begin with this\nbegin 64 x\n",
    "base64": encoded(b"base64", base64.encodebytes(LONG)), "BASE64 ": encoded(b"BASE64 ", base64.encodebytes(LONG)),
    "base64 cut": encoded(b"base64", base64.encodebytes(LONG)[:101]),
    "base64 of dirt": encoded(b"base64", b"a*b&c\xff==d=e"),
    "quoted-printable": encoded(b"quoted-printable", quopri.encodestring(LONG)),
    "quoted-printable of dirt": encoded(b"quoted-printable", b"a=zz=\nb=4=C3=A9=\n\n=3D="),
    "page in base64": encoded(b"base64", base64.encodebytes(b"<p style='display:none'>x</p>y"), b"text/html"),
    "an encoding that is none": encoded(b"x-none", LONG), "8bit": encoded(b"8bit", LONG),
    "7bit with high bytes": encoded(b"7bit", LONG),
    "attached": multipart(
        b"\nhello", b"Content-Type: application/pdf; name=a.pdf\n\n%PDF",
        b'Content-Disposition: attachment; filename="x y.tar.gz"\n\nz',
    ),
    "alternatives": multipart(b"Content-Type: text/plain\n\nhello", b"Content-Type: text/html\n\n<b>hello</b>"),
    "a page alone that is empty": PAGE, "a page of blanks": PAGE + b"<p> &nbsp; </p>",
    "an empty multipart": multipart(),
    "enclosed": multipart(b"Content-Type: message/rfc822\n\n" + FROM + b"\ninner words", b"\nouter"),
    "a page with a name": FROM + b"Content-Type: text/html; name=a.html\n\n<b>x</b>",
    "a text attached": FROM + b"Content-Disposition: attachment\n\nhello",
    "a picture": FROM + b"Content-Type: image/gif; name=x.gif\nContent-Transfer-Encoding: base64\n\nR0lG",
    "two types": FROM + b"Content-Type: text/html\nContent-Type: text/plain\n\n<b>x</b>",
    **{f"{n} tokens": TEXT + words(n - OF_HEAD) for n in (19_999, 20_000, 20_001, 30_000)},
    "30000 words of a page": PAGE + b"<p>" + words(30_000),
    "a header of 70 KB": b"X-Long: " + b"word " * 14_000 + b"\n" + FROM + b"\nhello",
    "a subject of 70 KB": b"Subject: " + b"WORD $5 " * 9_000 + b"\n\nhello",
    "a header of 9 KB": FROM + b"To: " + b"a@b.c, " * 1300 + b"\n\nhello",
    "2000 headers": many(2000, b"X-N%d: y\n") + b"\nhello",
    **{f"{n} headers": many(n - 500, b"X-N%d: y\n") + b"A: b\n" * 500 + b"\nhello" for n in (999, 1000, 1001)},
    "25 hops": many(25, b"Received: from h%d.example by x\n") + b"\nhello",
    "300 KB of text": TEXT + b"some words in a row\n" * 15_000,
    **{f"{n} links": TEXT + many(n) + b"www.last.example" for n in (299, 300, 301)},
    **{f"{n} links of a page": PAGE + many(n, ANCHOR) for n in (299, 300, 301)},
    "302 links, two the same": PAGE + many(300, ANCHOR) + many(2, ANCHOR),
    "300 links twice": PAGE + many(300, ANCHOR) * 2,
    "290 links in 490 tags": PAGE + many(200, ANCHOR) + many(200, b"<b>" + OTHER) + many(290, OTHER),
    **{f"{n + 1} marks": PAGE + many(n, COLOUR) for n in (198, 199, 200, 400)},
    "150 parts": multipart(*[b"\nhello %d" % i for i in range(150)]),
    "12 levels": b"".join(LEVEL % (i, i) for i in range(12)) + b"\nx",
    **{f"charset {name}": (WRITTEN_IN % name.encode()) + MIXED for name in CHARSETS},
    **{f"charset {name} of ASCII": (WRITTEN_IN % name.encode()) + b"plain ~{text~} +- here" for name in CHARSETS},
}  # fmt: skip

CASES = {
    **{f"{name} {each!r}": head_of(f"{name}: {each}") for name in ("From", "To", "Reply-To") for each in ADDRESSES},
    **{f"first from {each!r}": f"From: {each}\nReply-To: a@b.c\n\nx".encode() for each in ADDRESSES},
    **{f"subject {each!r}": f"Subject: {each}\n\nx".encode() for each in SUBJECTS},
    **{f"received {each!r}": head_of(f"Received: {each}\nReceived: from x.y by z") for each in RECEIVED},
    **{f"header {each!r}": head_of(each) for each in OTHER_HEADERS},
    **{f"text {each!r}": TEXT + each.encode() for each in (*LINKS, *WORDS, *SIGNS)},
    **{f"words with {each!r}": TEXT + f"before {each} after".encode() for each in (*LINKS, *WORDS)},
    **{f"page {each!r}": PAGE + each.encode() for each in (*LINKS, *WORDS, *TAGS, *HIDDEN, *SIGNS)},
    **{f"page of words and {each!r}": PAGE + f"before {each} after".encode() for each in (*TAGS, *HIDDEN, *SIGNS)},
    **{f"href of {each!r}": PAGE + f'<a href="{each}">x</a><img src={each}>'.encode() for each in LINKS},
    **{f"latin-1 {each!r}": PAGE.replace(b"utf-8", b"latin-1") + each.encode("latin-1", "replace") for each in WORDS},
    **{f"message of {name}": raw for name, raw in WHOLE.items()},
}


def trouble(each: list[bytes]) -> dict[str, str]:
    found = Heard(Compiled()).of(each)
    differ = [difference(held_by(raw), one) for raw, one in zip(each, found, strict=True)]
    return {name: told for name, told in zip(CASES, differ) if told}


def test_every_corner_holds_the_same_as_in_python():
    assert trouble(list(CASES.values())) == {}


def test_every_corner_holds_the_same_with_line_ends_of_mail_servers():
    assert trouble([raw.replace(b"\n", b"\r\n") for raw in CASES.values()]) == {}


def test_every_corner_holds_the_same_when_it_is_read_a_second_time_among_others():
    """What a reader remembers of one message must not change another."""
    cases = list(CASES.values())
    again = Heard(Compiled())
    first = again.of(cases)
    assert again.of(reversed(cases)) == first[::-1]
