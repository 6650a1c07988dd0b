"""The language server: requests and notifications in, responses and notifications out.

Start reading at `handlers`, then `session`. Imports `features`, analysis, documents, settings, the supervisor and the
workspace, but neither `cli` nor `check`.
"""
