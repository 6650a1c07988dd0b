# An image that runs `fx-lsp check` in CI, with a torch for the CPU: docs/check.md shows how to use it.
FROM python:3.12-slim
ARG TORCH=torch==2.13.0
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN python -m pip install --no-cache-dir --extra-index-url "$TORCH_INDEX" "$TORCH" numpy
COPY pyproject.toml README.md LICENSE /src/
COPY fxcore /src/fxcore
COPY fx_lsp /src/fx_lsp
COPY docs/rules /src/docs/rules
RUN python -m pip install --no-cache-dir /src
ENV FX_LSP_CACHE=/tmp/fx-lsp
WORKDIR /work
USER 65534
ENTRYPOINT ["fx-lsp", "check"]
CMD ["."]
