# Ringmaster's one program and nothing else; make image builds it.
FROM scratch
COPY bin/ringmaster /bin/ringmaster
ENV PATH=/bin
ENTRYPOINT ["ringmaster"]
