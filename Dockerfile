# syntax=docker/dockerfile:1
# The image of server and worker: docker build -t moot .

FROM python:3.13-bookworm AS build
RUN pip install --no-cache-dir uv
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
WORKDIR /app
# First what seldom changes: a change of moot's own code then builds in seconds.
RUN --mount=type=cache,target=/root/.cache/uv \
    --mount=type=bind,source=uv.lock,target=/app/uv.lock \
    --mount=type=bind,source=pyproject.toml,target=/app/pyproject.toml \
    uv sync --frozen --no-dev --extra otel --extra mcp --no-install-project
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY scripts/readme.py scripts/readme.py
COPY src src
RUN --mount=type=cache,target=/root/.cache/uv \
    uv sync --frozen --no-dev --extra otel --extra mcp --no-editable

FROM python:3.13-slim-bookworm
RUN useradd --system --uid 10001 --create-home --home-dir /data moot
COPY --from=build /app/.venv /app/.venv
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    XDG_DATA_HOME=/data \
    XDG_CONFIG_HOME=/data/config \
    XDG_CACHE_HOME=/data/cache \
    MOOT_LOG=json
USER moot
WORKDIR /data
VOLUME /data
EXPOSE 8321
# A server. A worker tells its health on the port of its metrics; see compose.yaml.
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as web; web.build_opener(web.ProxyHandler({})).open('http://127.0.0.1:8321/api/health', timeout=4)"]
ENTRYPOINT ["moot"]
CMD ["serve", "--host", "0.0.0.0"]
