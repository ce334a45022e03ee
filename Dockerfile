# grokscope on a CPU. `docker build -t grokscope .`, then `docker run --rm -v "$PWD:/work" grokscope` runs the demo and leaves its page
# in ./demo; any other command is given after the name of the image: `docker run --rm -v "$PWD:/work" grokscope list tasks`.
FROM python:3.11-slim
# the CPU build of PyTorch first: the one on PyPI brings gigabytes of CUDA
RUN pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu "torch>=2.11,<2.14"
COPY pyproject.toml README.md LICENSE /src/
COPY src /src/src
RUN pip install --no-cache-dir /src && rm -r /src
WORKDIR /work
ENTRYPOINT ["grokscope"]
CMD ["demo"]
