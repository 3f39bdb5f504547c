"""The decode kernel against its naive twin, on everything that the twin's own tests read, cut and damage."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import kernel
import mutate
import naive
import numpy as np
import pytest

from int_analyzer import schema
from int_analyzer.columns import N_HOPS, N_PACKETS, PLACES, allocate
from int_analyzer.wire import read

PCAPS = Path(__file__).parent.parent / "pcaps"
CAPTURES = sorted(str(path.relative_to(PCAPS)) for path in PCAPS.glob("*/*.pcap"))
WORKED = mutate.worked_packets()
PROFILES: dict[str, dict[str, Any] | None] = {
    "no profile": None,
    "by port": {"int_ports": (54321,), "report_ports": (32766,), "domains": {0x5453: (2, 0)}},
    "by DSCP": {"int_dscp": (0x17, 0x3F)},
    "by everything": mutate.EVERYTHING,
}
DIALECTS: dict[str, dict[str, Any]] = {
    name: {**mutate.EVERYTHING, "int_ports": (mutate.INT_PORT,), "int_dialect": name, "hpcc_layout": "ns3"}
    for name in ("int-2.x", "geant10", "onos-fabric", "geant04", "cablelabs-tps", "noviflow10")
}
INSIDE = mutate.plain_frames()
CORNERS = mutate.corner_cases()
KERNEL_HOP = {column.name for column in schema.HOPS if column.source == "kernel"}


def normal(result: dict[str, Any]) -> dict[str, Any]:
    """Without what is said in another way by the two: dialect numbers, a stored DSCP of 0, packet numbers."""
    packet = {name: value for name, value in result["packet"].items() if name not in ("dialect", "packet")}
    packet["original_dscp"] = packet["original_dscp"] or None
    packet["interface"] = 0
    hops = [{name: value for name, value in hop.items() if name in KERNEL_HOP} for hop in result["hops"]]
    return {**result, "packet": packet, "hops": hops}


def agree(packets: Iterable[bytes | kernel.Packet], link_type: int = 1, profile: dict[str, Any] | None = None, capacity: int = 8192) -> int:
    """Hold kernel and twin against each other on every packet; gives their number."""
    given = [(packet, len(packet), 0) if isinstance(packet, bytes) else packet for packet in packets]
    ours = iter(kernel.decode(given, link_type, profile, capacity=capacity))
    for data, original, time_ns in given:
        for expected in naive.decode_record(data, link_type, original, time_ns, profile):
            assert normal(next(ours)) == normal(expected), data.hex()
    assert next(ours, None) is None
    return len(given)


def recorded(name: str) -> tuple[int, list[kernel.Packet]]:
    link_type, records = naive.read_pcap(PCAPS / name)
    return link_type, [(data, original, time_ns) for time_ns, original, data in records]


@pytest.mark.parametrize("name", CAPTURES)
def test_every_recorded_packet_is_read_as_the_twin_reads_it(name: str) -> None:
    link_type, packets = recorded(name)
    assert agree(packets, link_type) == len(packets) > 0


@pytest.mark.parametrize("name", CAPTURES)
def test_a_recorded_packet_cut_anywhere_gives_what_was_whole_and_a_status(name: str) -> None:
    link_type, packets = recorded(name)
    data, original, time_ns = packets[len(packets) // 2]
    agree([(cut, original, time_ns) for cut in mutate.cuts(data)], link_type)
    agree(list(mutate.byte_changes(data, 2))[::5], link_type)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", sorted(WORKED))
def test_worked_packets_whole_cut_and_damaged(name: str, profile: str) -> None:
    data = WORKED[name]
    agree([data, *mutate.cuts(data)], 1, PROFILES[profile])
    agree([(cut, len(data), 7) for cut in mutate.cuts(data)], 1, PROFILES[profile])
    agree(mutate.byte_changes(data, 1), 1, PROFILES[profile])
    agree(mutate.scrambled(data, 3, 100), 1, PROFILES[profile])


@pytest.mark.parametrize("name", sorted(CORNERS))
def test_corner_case_gets_its_status_and_warnings(name: str) -> None:
    data, profile, status, warnings = CORNERS[name]
    result = kernel.decode([(data, len(data), 0)], 1, profile)[0]
    assert (result["packet"]["status"], result["packet"]["warnings"]) == (status, warnings)
    # The golden packets are cut at every length (test_decode_contract.py).
    agree([data, *list(mutate.cuts(data))[len(name) % 4 :: 4]], 1, profile)


@pytest.mark.parametrize("profile", PROFILES)
def test_telemetry_in_everything_that_carries_it_is_read_alike(profile: str) -> None:
    agree(mutate.carried(len(profile), 2000), 1, PROFILES[profile])
    agree(mutate.ioam_mixture(len(profile), 1000, INSIDE), 1, PROFILES[profile])
    agree(mutate.field_mixture(len(profile), 1000, INSIDE), 1, PROFILES[profile])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_configured_dialect_is_read_alike(dialect: str) -> None:
    agree(mutate.carried(len(dialect), 500), 1, DIALECTS[dialect])
    agree(mutate.field_mixture(len(dialect), 500, INSIDE), 1, DIALECTS[dialect])
    agree([data for data, *_ in CORNERS.values()], 1, DIALECTS[dialect])


@pytest.mark.parametrize("name", sorted(CORNERS))
def test_corner_case_damaged_is_read_alike_under_every_profile(name: str) -> None:
    data = CORNERS[name][0]
    changes = list(mutate.byte_changes(data, 4))
    for number, profile in enumerate(PROFILES.values()):
        agree([data, *changes[number :: max(16, len(changes) // 12)]], 1, profile)


def test_random_bytes_are_read_alike() -> None:
    agree(mutate.junk(3, 3000))
    agree(mutate.junk(4, 3000), 1, PROFILES["by everything"])
    for link_type in (0, 12, 14, 101, 113, 147, 228, 229, 276):
        agree(mutate.junk(link_type, 200), link_type)


@pytest.mark.parametrize("name", ["01", "03", "05", "08", "11"])
def test_tunnels_and_mirrors_around_a_packet(name: str) -> None:
    data = next(packet for full, packet in WORKED.items() if full.startswith(name))
    for _, wrapped in mutate.tunnels(data) if mutate.is_plain(data) else ():
        agree([wrapped, *mutate.cuts(wrapped)][::2])
    for _, wrapped in mutate.nested(data, 7, 12):
        agree([wrapped, *list(mutate.cuts(wrapped))[::5], *list(mutate.byte_changes(wrapped, 5))[::11]])


def test_every_link_type_gives_the_same_rows() -> None:
    for link_type, data in mutate.links(WORKED["01_rocev2_ipv4_rc_write_only"]):
        agree([data, *mutate.cuts(data)], link_type)


def long_packet() -> bytes:
    """As many hops as an 8-bit length can hold with one word each."""
    return mutate.int_md_packet(hops=mutate.random_hops(5, 252), npt=0, instructions=0x8000)


def test_the_longest_stack_is_read_whole() -> None:
    data = long_packet()
    agree([data])
    assert len(kernel.decode([(data, len(data), 0)])[0]["hops"]) == 252


@pytest.mark.parametrize(("count", "said"), [(255, set()), (256, {"report-limit"}), (300, {"report-limit"})])
def test_the_last_report_that_is_read_says_that_there_are_more(count: int, said: set[str]) -> None:
    data = mutate.udp_frame(mutate.report_2(*[bytes(4)] * count), mutate.REPORT_PORT)
    agree([data], 1, PROFILES["by port"])
    found = kernel.decode([(data, len(data), 0)], 1, PROFILES["by port"])
    assert [result["packet"]["warnings"] for result in found] == [set()] * 254 + [said]


def test_a_packet_with_all_that_the_limits_allow_is_read_to_its_end() -> None:
    """Four tunnels, a report, and eight extension headers behind each header of IPv6."""
    data = mutate.extensions(8)
    data = mutate.extensions(8, mutate.report_2(mutate.single_report(data, 3, length=255)), mutate.REPORT_PORT)
    for _ in range(4):
        data = mutate.extensions(8, bytes([8, 0, 0, 0, 0, 0, 77, 0]) + data, 4789)
    agree([data], 1, PROFILES["by port"])
    (result,) = kernel.decode([(data, len(data), 0)], 1, PROFILES["by port"])
    assert (result["packet"]["status"], len(result["reports"])) == ("ok", 1)
    assert result["roce"] is not None


def test_a_batch_ends_before_a_packet_that_might_not_fit() -> None:
    data = long_packet()
    content = kernel.capture_bytes([(data, len(data), 0)] * 600)
    counts = [(int(c.counts[N_PACKETS]), int(c.counts[N_HOPS])) for c in kernel.batches(content, 1, None, True)]
    assert len(counts) > 1 and sum(n for n, _ in counts) == 600 and sum(h for _, h in counts) == 600 * 252
    assert max(h for _, h in counts) <= PLACES["hops.packet"].rows


def test_small_batches_give_the_same_rows() -> None:
    link_type, packets = recorded("bmv2-laofan-int-md-v2.1/s4-coll.pcap")
    assert kernel.decode(packets, link_type, capacity=7) == kernel.decode(packets, link_type)


def test_compiled_and_plain_reading_give_the_same_rows() -> None:
    packets = [(data, len(data), 0) for name in WORKED for data in (WORKED[name], *mutate.cuts(WORKED[name]))]
    assert kernel.decode(packets, compiled=True) == kernel.decode(packets, compiled=False)


def test_absent_values_are_never_written_over_by_their_stand_in() -> None:
    """A column whose presence bit is unset keeps what was there: the kernel writes nothing that it did not read."""
    data = WORKED["02_int_v1.0_dscp_udp_rocev2"]
    (result,) = kernel.decode([(data, len(data), 0)])
    assert [hop["tx_utilisation_raw"] for hop in result["hops"]] == [4500, None]


def test_columns_do_not_overlap_and_start_on_cache_lines() -> None:
    places = sorted(PLACES.values())
    for earlier, later in itertools.pairwise(places):
        assert earlier.offset + earlier.rows * np.dtype(earlier.dtype).itemsize <= later.offset
    assert all(place.offset % 64 == 0 for place in places)
    assert allocate().hops.node_id.dtype == np.int64


@pytest.mark.parametrize("name", ["u8", "u16", "u24", "u32", "u48", "u56", "u64", "le16", "le32"])
def test_the_readings_of_a_field_agree(name: str) -> None:
    from int_analyzer import _jit

    rng = random.Random(4)
    content = rng.randbytes(64)
    plain = getattr(read, name)
    fast = _jit.compiled(plain)
    buffer: Any = np.frombuffer(content, dtype=np.uint8)
    if _jit.DISABLED:
        pytest.skip("NUMBA_DISABLE_JIT: there is one reading only")
    call = _caller(fast)
    for at in range(56):
        assert call(buffer, at) == plain(memoryview(content), at)


def _caller(reading: Any) -> Any:
    import numba

    @numba.njit
    def call(buffer: Any, at: Any) -> Any:
        return reading(buffer, at)

    return call
