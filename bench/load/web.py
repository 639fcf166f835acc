"""Locust's web page, for looking at running trials."""

from __future__ import annotations

import socket
from typing import cast

from flask import Flask, Response, jsonify, request
from gevent import Greenlet, spawn
from gevent.pywsgi import WSGIServer

from bench.load.users import LoadEnvironment

_REFUSED = frozenset({"/swarm", "/stop", "/stats/reset", "/user"})


def serve(environment: LoadEnvironment, listener: socket.socket) -> Greenlet:
    """Serve Locust's page on a listening socket, in a greenlet.

    Its start, stop and reset are refused: the runner alone starts and stops trials. A request costs the load
    some milliseconds: a page left open is part of what the trial measures, and shows in `cpu_share`.
    """
    page = environment.create_web_ui(delayed_start=True)
    app = cast("Flask", page.app)
    app.debug = False
    app.before_request(_refuse)
    server = WSGIServer(listener, app, log=None)
    return spawn(server.serve_forever)


def _refuse() -> Response | None:
    if request.path not in _REFUSED:
        return None
    message = "The benchmark starts and stops its trials itself; this page only shows them."
    return jsonify({"success": False, "message": message})
