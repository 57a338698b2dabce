# deciban as a command, and as a mail filter that answers spamc:
#
#   docker build --tag deciban .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/data" deciban train patients.csv --target diagnosis
#
#   docker build --tag deciban-mail --target mail .
#   docker run --detach --publish 127.0.0.1:1783:1783 --volume deciban-mail:/var/lib/deciban deciban-mail
#
# tests/test_docker.py runs these steps.

FROM python:3.13-slim AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

# Compiled kernels and settings of matplotlib are kept where any user may write, whatever --user says.
FROM python:3.13-slim AS base
COPY --from=wheel /wheels /wheels
RUN python -m pip install --no-cache-dir "$(ls /wheels/*.whl)[plot,excel,serve]" && rm -r /wheels
ENV NUMBA_CACHE_DIR=/var/cache/deciban MPLCONFIGDIR=/var/cache/deciban
RUN useradd --uid 1000 --create-home deciban \
 && mkdir -p /var/cache/deciban /var/lib/deciban /data \
 && chmod 1777 /var/cache/deciban \
 && chown deciban /var/lib/deciban /data
USER deciban
ENTRYPOINT ["deciban"]

# Whoever reaches the port may teach the filter: publish it on the loopback interface only, as above.
FROM base AS mail
ENV DECIBAN_MAIL=/var/lib/deciban/mail.db
VOLUME /var/lib/deciban
EXPOSE 1783
HEALTHCHECK --interval=30s --timeout=5s \
  CMD ["python", "-c", "import socket; s = socket.create_connection(('127.0.0.1', 1783), 4); s.sendall(b'PING SPAMC/1.2\\r\\n\\r\\n'); assert b'PONG' in s.recv(99)"]
CMD ["mail", "serve", "--spamd", "0.0.0.0:1783", "--anyone"]

FROM base AS deciban
WORKDIR /data
CMD ["--help"]
