"""Counters from files and from what answers like a Prometheus: what is read, under which names, and how mistakes are told."""

from __future__ import annotations

import json
import time
import tomllib
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from http_double import Asked, Double, answering, trickling
from mode import unchecked

from int_analyzer.counter import METRICS
from int_analyzer.errors import EvidenceError, ProfileError
from int_analyzer.evidence import prometheus as prometheus_module
from int_analyzer.evidence.csv_file import CsvFile
from int_analyzer.evidence.place import Places
from int_analyzer.evidence.prometheus import MOST_POINTS, Prometheus
from int_analyzer.evidence.series import Counters, Series, build_series
from int_analyzer.profile import Profile, parse_profile

pytestmark = unchecked

SECOND = 1_000_000_000
NOW = 1_780_000_000 * SECOND
TEXT = """
[node.1]
name = "spine0"
ports = { 4 = { name = "to-leaf3" } }
[node.1004]
name = "leaf3"
[host."10.0.0.7"]
name = "gpu-7"
[counters.symbol_errors]
query = 'errors{fabric="a"}'
port = "ifname"
step_seconds = 2
[counters.gpu_busy]
query = "busy / 100"
host = "Hostname"
"""
PROFILE = parse_profile(tomllib.loads(TEXT))
HEADER = "time,node,port,host,metric,value\n"


def counters_of(folder: Path, *rows: str, header: str = HEADER) -> Counters:
    path = folder / "x.csv"
    path.write_text(header + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return CsvFile(path, PROFILE).read(0, 0)


def series(values: list[float], metric: str = "symbol_errors") -> Series:
    """Readings every second from NOW on."""
    return build_series(METRICS[metric], (1, 4, None), [NOW + second * SECOND for second in range(len(values))], values)


def test_rows_become_series_by_metric_and_place_in_order_of_time(tmp_path: Path) -> None:
    read = counters_of(
        tmp_path,
        "1780000001,spine0,to-leaf3,,symbol_errors,7",
        "2026-05-28T20:26:40Z,spine0,4,,symbol_errors,5",
        "2026-05-28T22:26:42+02:00,0x1,4,,symbol_errors,9",
        "1780000000.25,,,gpu-7,gpu_busy,0.5",
        "1780000001.000000001,,,10.0.0.7,gpu_busy,0.75",
    )
    places = {(one.metric.name, one.node_id, one.port_id, one.host) for one in read.series}
    assert places == {("symbol_errors", 1, 4, None), ("gpu_busy", None, None, "10.0.0.7")}
    assert sorted(time - NOW for one in read.series for time in one.time_ns.tolist()) == [0, SECOND // 4, SECOND, SECOND + 1, 2 * SECOND]


def test_cards_of_one_host_are_told_apart_by_their_series(tmp_path: Path) -> None:
    rows = [
        f"178000000{second},,,gpu-7,retransmissions,{value},mlx{card}" for second in range(3) for card, value in ((0, 10**6), (1, second))
    ]
    cards = counters_of(tmp_path, *rows, header="time,node,port,host,metric,value,series\n").of_host("retransmissions", "10.0.0.7")
    assert [one.value.tolist() for one in cards] == [[10**6] * 3, [0, 1, 2]]


def test_a_counter_that_begins_again_goes_on_rising() -> None:
    rise = series([100, 150, 20, 30]).rise(NOW, NOW + 3 * SECOND)
    assert rise is not None and rise.amount == 50 + 20 + 10


def test_a_rise_lies_between_the_readings_around_it() -> None:
    rise = series([5, 5, 8, 300, 600, 601, 601]).rise(NOW + 2 * SECOND + 1, NOW + 3 * SECOND + 1)
    assert rise is not None and (rise.amount, rise.from_ns, rise.to_ns) == (592, NOW + 2 * SECOND, NOW + 4 * SECOND)
    # of the single errors around the burst none says when it was
    whole = series([5, 5, 8, 300, 600, 601, 601]).rise(NOW, NOW + 6 * SECOND)
    assert whole is not None and (whole.first_ns, whole.last_ns) == (NOW + 2 * SECOND - SECOND, NOW + 4 * SECOND)


def test_what_no_readings_enclose_is_not_known_and_not_zero() -> None:
    one = series([5, 5, 5])
    assert one.rise(NOW - 1, NOW + SECOND) is None
    assert one.rise(NOW, NOW + 2 * SECOND + 1) is None
    still = one.rise(NOW, NOW + 2 * SECOND)
    assert still is not None and (still.amount, still.first_ns) == (0, 0)
    assert series([5]).rise(NOW, NOW) is None


def test_a_level_is_the_mean_of_its_readings_or_the_last_one_before() -> None:
    busy = series([0.2, 0.4, 0.9], "gpu_busy")
    assert busy.mean(NOW, NOW + SECOND) == pytest.approx(0.3)
    assert busy.mean(NOW + SECOND + 1, NOW + SECOND + 2) == 0.4
    assert busy.mean(NOW - 2, NOW - 1) is None
    assert busy.mean(NOW + 4 * SECOND, NOW + 5 * SECOND) == 0.9


def test_a_level_that_is_older_than_two_intervals_is_not_known() -> None:
    assert series([0.2, 0.4, 0.9], "gpu_busy").mean(NOW + 4 * SECOND + 1, NOW + 5 * SECOND) is None


def test_the_interval_is_that_of_the_coarsest_series() -> None:
    coarse = build_series(METRICS["drops"], (1, 4, None), [NOW, NOW + 15 * SECOND, NOW + 30 * SECOND], [0, 0, 0])
    assert Counters([series([1, 2, 3]), coarse]).interval_ns == 15 * SECOND
    assert Counters([series([1])]).interval_ns is None


def test_readings_of_one_time_are_one() -> None:
    one = build_series(METRICS["drops"], (1, 4, None), [NOW, NOW + 1, NOW], [1.0, 3.0, 2.0])
    assert one.time_ns.tolist() == [NOW, NOW + 1] and one.value.tolist() == [2.0, 3.0]


def test_what_cannot_be_used_is_counted_by_reason(tmp_path: Path) -> None:
    read = counters_of(
        tmp_path,
        "1780000000,spine9,to-leaf3,,symbol_errors,7",
        "1780000001,spine9,to-leaf3,,symbol_errors,8",
        "1780000000,spine0,to-nowhere,,symbol_errors,7",
        "1780000000,,,gpu-99,gpu_busy,1",
        "1780000000,spine0,to-leaf3,,temperature,7",
        "1780000000,spine0,to-leaf3,,drops,NaN",
        "1780000000,spine0,to-leaf3,,drops,",
        "1780000000,spine0,to-leaf3,,drops,1e400",
        "",
    )
    assert read.series == []
    assert read.strangers == ["symbol_errors spine9 to-leaf3", "symbol_errors spine0 to-nowhere", "gpu_busy gpu-99"]
    assert read.ignored == {"unknown-metric": 1, "no-value": 3}


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        ("time,node,port,value\n", "", "there is no metric"),
        ("time,metric,value\n", "", "there is no node and port, or host"),
        ("", "", "there is no time, metric, value"),
        (HEADER, "yesterday,spine0,4,,drops,1", "line 2: time 'yesterday' is neither"),
        (HEADER, "2026-05-28T20:26:40,spine0,4,,drops,1", "line 2: time '2026-05-28T20:26:40' has no zone"),
        (HEADER, "1780000000,spine0,4,,drops,many", "line 2: value 'many' is no number"),
        (HEADER, "1780000000,spine0,4", "line 2 has 3 columns, the first line 6"),
        (HEADER, "1780000000000000000,spine0,4,,drops,1", "line 2: time '1780000000000000000' is neither"),
        (HEADER, "99999999999,spine0,4,,drops,1", "line 2: time '99999999999' is too far off"),
        (HEADER, "9999-12-31T00:00:00Z,spine0,4,,drops,1", "line 2: time '9999-12-31T00:00:00Z' is too far off"),
        (HEADER, "1780000000,spine0,4,,drops,1\n1780000000.0,spine0,4,,drops,2", "line 3: a second reading at this time"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line(tmp_path: Path, header: str, row: str, message: str) -> None:
    with pytest.raises(EvidenceError, match=message):
        counters_of(tmp_path, row, header=header)


def test_what_is_no_text_or_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="No such file"):
        CsvFile(tmp_path / "none.csv", PROFILE)
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EvidenceError, match="no CSV file"):
        CsvFile(tmp_path / "x.csv", PROFILE)


@pytest.mark.parametrize("name", ["spine0", "spine0:9100", "1", "0x1", "1:9100"])
def test_a_node_is_found_by_name_and_number_with_what_a_prometheus_adds(name: str) -> None:
    assert Places(PROFILE).find(METRICS["drops"], name, "to-leaf3", "") == (1, 4, None)


@pytest.mark.parametrize(
    ("name", "address"), [("gpu-7:9400", "10.0.0.7"), ("10.0.0.8:9400", "10.0.0.8"), ("[2001:db8::1]:9400", "2001:db8::1")]
)
def test_a_host_is_found_by_name_and_address(name: str, address: str) -> None:
    assert Places(PROFILE).find(METRICS["gpu_busy"], "", "", name) == (None, None, address)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[counters.symbol_errors]", "counters.symbol_errors.query: is required"),
        ("[counters.symbol_error]\nquery = 'x'", "did you mean 'symbol_errors'"),
        ("[counters.symbol_errors]\nquery = 'x'\nhost = 'instance'", "counters.symbol_errors.host: unknown key"),
        ("[counters.gpu_busy]\nquery = 'x'\nport = 'port'", "counters.gpu_busy.port: unknown key"),
        ("[counters.drops]\nquery = 'x'\nstep_seconds = 0", "counters.drops.step_seconds: must be above 0"),
    ],
)
def test_a_query_that_cannot_be_is_told_with_its_key(text: str, message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        parse_profile(tomllib.loads(text))


def prometheus(**results: Any) -> AbstractContextManager[Double]:
    """Answers as a Prometheus does: `results` by query, a matrix, or a status and a body."""

    def answer(asked: Asked) -> tuple[int, bytes]:
        found = results.get(parse_qs(asked.body.decode())["query"][0], [])
        status, body = (
            found if isinstance(found, tuple) else (200, {"status": "success", "data": {"resultType": "matrix", "result": found}})
        )
        return status, body if isinstance(body, bytes) else json.dumps(body).encode()

    return answering(answer)


QUERY = 'errors{fabric="a"}'


def test_series_of_a_prometheus_are_named_by_the_labels_of_the_profile() -> None:
    found = [
        {
            "metric": {"instance": "spine0:9100", "ifname": "to-leaf3"},
            "values": [[1780000000, "5"], [1780000002.5, "NaN"], [1780000004, "7"]],
        },
        {"metric": {"instance": "spine9:9100", "ifname": "eth0"}, "values": [[1780000000, "5"]]},
        {"metric": {"instance": "spine0"}, "values": [[1780000000, "5"]]},
    ]
    busy = [{"metric": {"Hostname": "gpu-7", "gpu": str(gpu)}, "values": [[1780000000, str(gpu)]]} for gpu in (0, 1)]
    with prometheus(**{QUERY: found, "busy / 100": busy}) as server:
        read = Prometheus(server.url + "/", PROFILE).read(NOW, NOW + SECOND)
    (errors,) = read.of_ports("symbol_errors", [(1, 4)])
    assert (errors.time_ns - NOW).tolist() == [0, 4 * SECOND] and errors.value.tolist() == [5, 7]
    assert [one.value.tolist() for one in read.of_host("gpu_busy", "10.0.0.7")] == [[0], [1]]
    assert read.strangers == ["symbol_errors spine9:9100 eth0", "symbol_errors spine0"]
    assert read.ignored == {"no-value": 1}
    assert read.sources == [server.url]


def test_it_is_asked_for_the_time_around_the_capture_with_the_step_of_the_profile_and_the_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    with prometheus() as server:
        Prometheus(server.url, PROFILE, tmp_path / "token").read(NOW, NOW + SECOND)
        Prometheus(server.url, PROFILE).read(NOW, NOW + 10**6 * SECOND)
    probe, ranged, *_, last = server.asked
    assert probe.path == "/api/v1/query" and ranged.path == "/api/v1/query_range"
    assert probe.headers["Authorization"] == "Bearer secret" and "Authorization" not in last.headers
    long = parse_qs(last.body.decode())
    assert parse_qs(ranged.body.decode()) == {"query": [QUERY], "start": ["1779999700.000"], "end": ["1780000301.000"], "step": ["2.000"]}
    points = (float(long["end"][0]) - float(long["start"][0])) / float(long["step"][0])
    assert points <= MOST_POINTS


def test_it_is_not_asked_for_what_is_to_come() -> None:
    with prometheus() as server:
        assert Prometheus(server.url, PROFILE).read(9 * 10**18, 9 * 10**18).series == []
    assert [asked.path for asked in server.asked] == ["/api/v1/query"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            (400, {"status": "error", "error": "parse error: unexpected }"}),
            "symbol_errors: HTTP 400 Bad Request: parse error: unexpected }",
        ),
        ((307, b""), "symbol_errors: HTTP 307 Temporary Redirect$"),
        ((503, b"<html>"), "symbol_errors: HTTP 503 Service Unavailable$"),
        ((200, b"<html>"), "symbol_errors: no answer of a Prometheus"),
        ((200, {"status": "success", "data": {"resultType": "vector", "result": []}}), "symbol_errors: no series came back"),
        (
            (200, {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"instance": "1", "ifname": "4"}}]}}),
            "symbol_errors: no matrix of readings",
        ),
        ((200, ["no document"]), "symbol_errors: no answer of a Prometheus"),
        ((200, b"[" * 100_000), "symbol_errors: no answer of a Prometheus"),
    ],
)
def test_what_a_prometheus_refuses_is_told_in_one_line(answer: Any, message: str) -> None:
    with prometheus(**{QUERY: answer}) as server:
        source = Prometheus(server.url, PROFILE)
        with pytest.raises(EvidenceError, match=message) as told:
            source.read(NOW, NOW)
    assert "\n" not in str(told.value)


def test_an_answer_that_is_too_large_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with prometheus(**{QUERY: (200, b" " * (2 << 20))}) as server:
        source = Prometheus(server.url, PROFILE)
        monkeypatch.setattr(prometheus_module, "MOST_BYTES", 1 << 20)
        with pytest.raises(EvidenceError, match="symbol_errors: an answer of more than 1 MiB: ask for fewer series, or a longer step"):
            source.read(NOW, NOW)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"HTTP/1.1 200 OK\r\nserver: ", r"no answer within 1\.5 s"),
        (b"HTTP/1.1 200 OK\r\n\r\n", r"no answer within 1\.5 s"),
        (b"HTTP/1.1 500 Oops\r\n\r\n", "HTTP 500 Oops"),
    ],
)
def test_an_answer_of_which_a_byte_comes_now_and_then_is_given_up(head: bytes, message: str) -> None:
    with trickling(head) as url, pytest.raises(EvidenceError, match=message):
        began = time.monotonic()
        try:
            Prometheus(url, PROFILE, timeout_seconds=1.5)
        finally:
            assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("url", "profile", "message"),
    [
        ("prometheus:9090", PROFILE, "is no address of a Prometheus"),
        ("http://[::1", PROFILE, "is no address of a Prometheus"),
        ("http://prometheus:99999", PROFILE, "is no address of a Prometheus"),
        ("http://me:secret@prometheus:9090", PROFILE, "no user and password in the address"),
        ("http://me:secret@[::1", PROFILE, "no user and password in the address"),
        ("http://prometheus:9090/?token=secret", PROFILE, "no user and password in the address, and no query"),
        ("http://prometheus:9090/#secret", PROFILE, "no user and password in the address, and no query"),
        ("http://127.0.0.1:9", Profile(), "the profile has no queries"),
        ("http://127.0.0.1:9", PROFILE, "no answer of a Prometheus: .*refused"),
    ],
)
def test_an_address_that_leads_to_no_prometheus_is_told_at_once(url: str, profile: Profile, message: str) -> None:
    with pytest.raises(EvidenceError, match=message) as told:
        Prometheus(url, profile)
    assert "secret" not in str(told.value)


def test_a_token_file_that_holds_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff")
    for name in ("empty", "binary"):
        with pytest.raises(EvidenceError, match="holds no bearer token"):
            Prometheus("http://127.0.0.1:9", PROFILE, tmp_path / name)
    with pytest.raises(EvidenceError, match="No such file"):
        Prometheus("http://127.0.0.1:9", PROFILE, tmp_path / "none")


def test_the_documentation_names_every_metric_with_what_it_is_of_and_says() -> None:
    page = (Path(__file__).parent.parent / "docs/evidence.md").read_text(encoding="utf-8")
    assert [metric.name for metric in METRICS.values() if f"| {metric.name} | {metric.of} | {metric.doc} |" not in page] == []
