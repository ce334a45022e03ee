"""Live: one page in the browser about the runs of a folder, which grows while they train.

Needs `grokscope[live]` (starlette, uvicorn); nothing else in the package imports it.
"""
