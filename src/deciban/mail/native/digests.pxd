cdef bytes digest_of(bytes raw)
