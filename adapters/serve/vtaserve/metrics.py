# SPDX-License-Identifier: Apache-2.0
"""Counts of the server, in Prometheus's format."""

from __future__ import annotations

from typing import Any, Iterator, Optional

import prometheus_client as prometheus
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

_SECONDS = (.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30)


class Metrics:
    """Counts of the endpoints' requests, and the state of models and cards."""

    content_type = prometheus.CONTENT_TYPE_LATEST

    def __init__(self, endpoints: Any) -> None:
        self._endpoints = endpoints
        self._registry = prometheus.CollectorRegistry()
        self._requests = prometheus.Counter(
            "vta_serve_requests", "Requests that were answered", ["model", "code"],
            registry=self._registry)
        self._seconds = prometheus.Histogram(
            "vta_serve_request_seconds", "Time from a request's head to its answer", ["model"],
            buckets=_SECONDS, registry=self._registry)
        self._registry.register(self)

    def answered(self, model: Optional[str], code: int, seconds: float) -> None:
        """Count a request. model is the name of a model that there is, or None."""
        self._requests.labels(model or "", str(code)).inc()
        if model:
            self._seconds.labels(model).observe(seconds)

    def text(self) -> bytes:
        """All metrics."""
        return prometheus.generate_latest(self._registry)

    def collect(self) -> Iterator[Any]:
        """Called by the registry."""
        endpoints = self._endpoints
        ready = GaugeMetricFamily("vta_serve_model_ready", "1 if the model takes requests",
                                  labels=["model"])
        waiting = GaugeMetricFamily("vta_serve_waiting_rows", "Rows that wait for a card",
                                    labels=["model"])
        runs = CounterMetricFamily("vta_serve_runs", "Runs that were begun", labels=["model"])
        families = {name: CounterMetricFamily(f"vta_serve_card_{name}", text,
                                              labels=["model", "card"])
                    for name, text in (("answers", "Runs that the card completed"),
                                       ("faults", "Runs that faulted"),
                                       ("given_back", "Runs that were lost with the card and ran "
                                                      "again"),
                                       ("losses", "Times that the card was lost"))}
        up = GaugeMetricFamily("vta_serve_card_up", "1 if the card takes runs",
                               labels=["model", "card"])
        for model in list(endpoints.models.values()):
            ready.add_metric([model.name], not model.unready())
            waiting.add_metric([model.name], len(model.waiting))
            runs.add_metric([model.name], model.runs)
            for card in model.pool.stats() if model.pool else []:
                up.add_metric([model.name, card.name], card.up)
                for name, family in families.items():
                    family.add_metric([model.name, card.name], getattr(card, name))
        yield from (ready, waiting, runs, up, *families.values())
        yield GaugeMetricFamily("vta_serve_requests_in_progress", "Requests without an answer yet",
                                value=endpoints.requests.used)
        yield GaugeMetricFamily("vta_serve_request_bytes", "Memory that requests in progress take",
                                value=endpoints.memory.used)
        if endpoints.server:
            yield GaugeMetricFamily("vta_serve_connections", "Open connections",
                                    value=len(endpoints.server.open))
            closed = CounterMetricFamily("vta_serve_connections_closed",
                                         "Connections that were closed by a limit",
                                         labels=["reason"])
            for reason, count in endpoints.server.counts.items():
                closed.add_metric([reason], count)
            yield closed
