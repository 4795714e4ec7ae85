# drmamba in a container: the HTTP service by default, any other command of drmamba on request.
#
#   docker build -t drmamba .
#   docker run --rm --read-only --tmpfs /tmp -p 7860:7860 drmamba
#   docker run --rm --read-only --tmpfs /tmp -v "$PWD:/pages" drmamba binarize scans -o out
#
# docs/container.md explains the options.

FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
COPY constraints.txt /tmp/constraints.txt
COPY --from=build /wheels /tmp/wheels
RUN wheel=$(echo /tmp/wheels/drmamba-*.whl) \
    && pip install --no-cache-dir --no-compile -c /tmp/constraints.txt "$wheel[web]" \
    && python -m compileall -q "$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/drmamba" \
    && rm -r /tmp/wheels /tmp/constraints.txt \
    && useradd --no-create-home --uid 10001 drmamba
# Nothing is written outside /tmp and the folder that is mounted.
ENV HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER drmamba
WORKDIR /pages
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/healthz', timeout=4)"]
ENTRYPOINT ["drmamba"]
CMD ["serve", "--host", "0.0.0.0", "--no-page"]
