"""Serve: the tracker's JSON API over HTTP. `app.make_app` is the way in, `running` the server."""
