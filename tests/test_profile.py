"""The profile: what a file may say, what it then means, and how mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from mode import unchecked

from int_analyzer import settings
from int_analyzer.errors import ProfileError
from int_analyzer.formats.dialect import DIALECT_NAMES
from int_analyzer.profile import Profile, Units, load_profile

pytestmark = unchecked

EXAMPLE = Path(__file__).parent.parent / "docs" / "profile-example.toml"


def load(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "fabric.toml"
    path.write_text(text)
    return load_profile(path)


def test_the_example_of_the_documentation_is_valid() -> None:
    profile = load_profile(EXAMPLE)
    assert profile.detect.int_dscp == (0x17, 0x3F)
    assert profile.domains[0].hop_words == 1
    assert profile.node_name(11) == "s1"
    assert profile.port_name(11, 1103) == "s1-l3"
    assert profile.port_speed_bps(11, 1103) == 400e9
    assert profile.node_role(0x67) == "leaf"
    assert profile.clock_domain(11) == "ptp-a"
    assert profile.host_name("10.0.1.1") == "gpu-17"
    assert profile.hosts.groups_of("10.0.1.2") == profile.hosts.groups_of("10.0.3.9") == ["job-a"]
    assert profile.thresholds.minimum_packets == 5
    assert (profile.cost.host_hour, profile.cost.currency) == (30.0, "USD")
    assert "2 nodes, 3 ports" in profile.describe()


def test_a_node_overrides_only_the_units_that_it_names() -> None:
    profile = load_profile(EXAMPLE)
    assert profile.units_of(11) == profile.units
    assert profile.units_of(0x67) == Units("cells", 80, 1100, "ns", "ns", "posix")


def test_without_a_file_nothing_is_known() -> None:
    profile = Profile()
    assert profile.units_of(5) == Units()
    assert (profile.node_name(5), profile.port_name(5, 3), profile.port_name(5, -1), profile.port_name(5, None)) == ("5", "3", "?", "?")
    assert profile.node_name(-1) == "?"
    assert profile.port_speed_bps(5, 3) is None
    assert profile.node_role(5) is None
    assert profile.clock_domain(5) is None
    assert (profile.host_name("10.0.0.1"), profile.hosts.groups_of("10.0.0.1")) == ("10.0.0.1", [])


def test_an_empty_file_is_the_default(tmp_path: Path) -> None:
    profile = load(tmp_path, "")
    assert (profile.detect, profile.units, profile.nodes, profile.thresholds) == (
        Profile().detect,
        Profile().units,
        {},
        Profile().thresholds,
    )


def test_a_64_bit_node_id_is_found_by_the_bits_that_the_kernel_keeps(tmp_path: Path) -> None:
    profile = load(tmp_path, '[node.0xfffffffffffffff0]\nname = "wide"')
    assert profile.node_name(-16) == "wide"
    assert profile.node_name(-17) == str(2**64 - 17)


def test_settings_without_a_profile_are_the_defaults() -> None:
    made, default = Profile().settings(), settings.default_settings()
    assert (made.port_roles == default.port_roles).all()
    assert (made.numbers == default.numbers).all()
    assert made.domains.shape == (0, 3)


def test_settings_hold_what_the_file_says(tmp_path: Path) -> None:
    made = load(
        tmp_path,
        """
        [detect]
        int_ports = [5000]
        int_dscp = "0x20"
        marker = 0xffffffffffffffff
        report_ports = [6000]
        roce_ports = [4792]
        structure = false
        int_dialect = "geant10"
        [[domain]]
        id = 7
        source_only_words = 2
        [[domain]]
        id = 8
        hop_words = 1
        """,
    ).settings()
    roles = {port: int(made.port_roles[port]) for port in (5000, 6000, 4791, 4792, 4789)}
    # A list of ports replaces the well-known ones of its kind.
    assert roles == {
        5000: settings.ROLE_INT,
        6000: settings.ROLE_REPORT,
        4791: settings.ROLE_AUTO,
        4792: settings.ROLE_ROCE,
        4789: settings.ROLE_VXLAN,
    }
    numbers = made.numbers
    assert (numbers[settings.INT_DSCP_VALUE], numbers[settings.INT_DSCP_MASK]) == (0x20, 0x3F)
    assert (numbers[settings.INT_MARKER], numbers[settings.INT_MARKER_SET]) == (-1, 1)
    assert numbers[settings.INT_DIALECT] == DIALECT_NAMES["geant10"]
    assert numbers[settings.DETECT_BY_STRUCTURE] == 0
    assert made.domains.tolist() == [[7, 2, 0], [8, 0, 1]]


def test_numbers_that_nobody_has_assigned_are_the_profiles(tmp_path: Path) -> None:
    made = load(
        tmp_path,
        """
        [detect]
        ifa_protocols = [131, 253]
        geneve_ioam_classes = ["0xff02"]
        gpe_ioam_protocols = [5]
        gpe_int_protocols = [6]
        hpcc_ports = [5001]
        hpcc_layout = "ns3"
        lumina_ports = [5002]
        csig_type = "0x9901"
        csig_wide_type = "0x9902"
        tcp_int = true
        """,
    ).settings()
    assert made.ifa_protocols.tolist() == [131, 253] and made.geneve_ioam_classes.tolist() == [0xFF02]
    assert made.gpe_roles[[1, 2, 3, 4, 5, 6, 8, 0x80, 0x81, 0x82]].tolist() == [
        settings.GPE_IPV4,
        settings.GPE_IPV6,
        settings.GPE_ETHERNET,
        settings.GPE_NSH,
        settings.GPE_IOAM,
        settings.GPE_INT_1,
        settings.GPE_INT_1,
        settings.GPE_INT,
        settings.GPE_IOAM,
        settings.GPE_INT,
    ]
    assert (made.port_roles[5001], made.port_roles[5002]) == (settings.ROLE_HPCC, settings.ROLE_LUMINA)
    assert made.numbers[settings.HPCC_LAYOUT] == settings.HPCC_NS3 and made.numbers[settings.TCP_INT] == 1
    assert made.numbers[[settings.CSIG_TYPE, settings.CSIG_WIDE_TYPE]].tolist() == [0x9901, 0x9902]


def test_a_profile_without_these_numbers_is_as_no_profile(tmp_path: Path) -> None:
    made, default = load(tmp_path, "").settings(), settings.default_settings()
    for name, values in made._asdict().items():
        assert values.tolist() == getattr(default, name).tolist(), name


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ("[detekt]\n", "detekt", "did you mean 'detect'"),
        ("[detect]\nint_port = [1]", "detect.int_port", "did you mean 'int_ports'"),
        ("[detect]\nint_ports = 5000", "detect.int_ports", "list"),
        ("[detect]\nint_ports = [70000]", "detect.int_ports", "outside 1…65535"),
        ("[detect]\ngre_int_protocols = 35000", "detect.gre_int_protocols", "list of GRE protocol types"),
        ("[detect]\ngeneve_int_classes = [65536]", "detect.geneve_int_classes", "outside 0…65535"),
        ("[detect]\ngeneve_int_classes = 1", "detect.geneve_int_classes", "list of Geneve option classes"),
        ("[detect]\nint_ports = [1.5]", "detect.int_ports", "whole number"),
        ("[detect]\nifa_protocols = [256]", "detect.ifa_protocols", "outside 0…255"),
        ("[detect]\nifa_protocols = 131", "detect.ifa_protocols", "list of IP protocol numbers"),
        ("[detect]\ngpe_ioam_protocols = [3]", "detect.gpe_ioam_protocols", "next protocol 3 is IPv4, IPv6, Ethernet or NSH"),
        ("[detect]\ngpe_ioam_protocols = [5]\ngpe_int_protocols = [5]", "detect.gpe_ioam_protocols", "gpe_int_protocols too"),
        ('[detect]\nhpcc_layout = "ns2"', "detect.hpcc_layout", "not one of paper, ns3"),
        ("[detect]\nhpcc_ports = [5]\nlumina_ports = [5]", "detect.lumina_ports", "5 stands in hpcc_ports too"),
        ("[detect]\ncsig_type = 65536", "detect.csig_type", "outside 0…65535"),
        ("[detect]\ntcp_int = 1", "detect.tcp_int", "true or false"),
        ("[detect]\nint_ports = [6000]\nreport_ports = [6000]", "detect.report_ports", "6000 stands in int_ports too"),
        ('[detect]\nint_dscp = "0x17/0x07"', "detect.int_dscp", "no packet can match"),
        ('[detect]\nint_dscp = "high"', "detect.int_dscp", "whole number"),
        ("[detect]\nint_dscp = 64", "detect.int_dscp", "outside 0…63"),
        ("[detect]\nstructure = 1", "detect.structure", "true or false"),
        ('[detect]\nint_dialect = "geant"', "detect.int_dialect", "did you mean 'geant10'"),
        ("[detect]\nint_dialect = 3", "detect.int_dialect", "must be text"),
        ("[domain]\nid = 1", "domain", "[[domain]]"),
        ("[[domain]]\nid = 1\n[[domain]]\nhop_words = 1", "domain[1].id", "required"),
        ('[units]\nqueue_depth = "byte"', "units.queue_depth", "did you mean 'bytes'"),
        ("[units]\ncell_bytes = 0", "units.cell_bytes", "above 0"),
        ("[units]\ncell_bytes = nan", "units.cell_bytes", "above 0 and finite"),
        ("[units]\ncell_bytes = true", "units.cell_bytes", "must be a number"),
        ("units = 3", "units", "must be a table"),
        ("[node.leaf1]\n", "node.leaf1", "whole number"),
        ("[node.16]\n[node.0x10]\n", "node.0x10", "same id as '16'"),
        ("[node.1]\nname = 3", "node.1.name", "must be text"),
        ('[node.1.units]\nhop_latency = "ms"', "node.1.units.hop_latency", "not one of ns, us, unknown"),
        ("[node.1.ports]\n3 = { speed = 1 }", "node.1.ports.3.speed", "did you mean 'speed_bps'"),
        ("[thresholds]\nfactor = 1", "thresholds.factor", "above 1"),
        ("[thresholds]\nminimum_packets = 0", "thresholds.minimum_packets", "outside"),
    ],
)
def test_a_mistake_is_told_by_file_key_and_reason(tmp_path: Path, text: str, key: str, reason: str) -> None:
    with pytest.raises(ProfileError) as caught:
        load(tmp_path, text)
    assert caught.value.key == key
    assert reason in caught.value.reason
    assert str(caught.value).startswith(f"{tmp_path / 'fabric.toml'}: {key}: ")


def test_a_file_that_is_not_toml_or_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="not TOML"):
        load(tmp_path, "[detect\n")
    with pytest.raises(ProfileError, match="No such file"):
        load_profile(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ProfileError, match="not UTF-8"):
        load_profile(tmp_path / "binary.toml")


def test_a_host_is_found_by_its_address_however_it_was_written(tmp_path: Path) -> None:
    profile = load(tmp_path, '[host."2001:DB8:0::1"]\nname = "gpu-1"\n[group.all]\nhosts = ["2001:db8::/64"]\n')
    assert profile.host_name("2001:db8::1") == "gpu-1"
    assert (profile.hosts.groups_of("2001:db8::1"), profile.hosts.groups_of("2001:db8:1::1")) == (["all"], [])


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ('[host."10.0.0.300"]\nname = "a"', "host.10.0.0.300", "is no IP address"),
        ('[host."10.0.0.1"]', "host.10.0.0.1", "needs a name"),
        ('[host."10.0.0.1"]\nname = "a"\n[host."10.0.0.2"]\nname = "a"', "host.10.0.0.2", "'a' is the name of 10.0.0.1 too"),
        ('[host."::1"]\nname = "a"\n[host."0::1"]\nname = "b"', "host.0::1", "is the same address as ::1"),
        ('[group.g]\nhosts = ["gpu-1"]', "group.g.hosts", "'gpu-1' is neither a named host nor an address or network"),
        ('[group.g]\nhosts = ["10.0.0.1/8"]', "group.g.hosts", "has host bits set"),
        ("[group.g]\nhosts = 7", "group.g.hosts", "must be a list of host names"),
        ("[group.g]\nmembers = []", "group.g.members", "unknown key"),
    ],
)
def test_mistakes_about_hosts_are_told(tmp_path: Path, text: str, key: str, reason: str) -> None:
    with pytest.raises(ProfileError) as caught:
        load(tmp_path, text)
    assert caught.value.key == key
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("host_hour = -1", "cost.host_hour"),
        ('host_hour = "dear"', "cost.host_hour"),
        ("currency = 3", "cost.currency"),
        ("hour = 1", "hour"),
    ],
)
def test_a_price_that_is_none_is_refused_by_its_key(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(ProfileError, match=key):
        load(tmp_path, f"[cost]\n{text}\n")


def test_without_a_price_nothing_costs_anything(tmp_path: Path) -> None:
    assert load(tmp_path, "").cost.host_hour is None
    cost = load(tmp_path, '[cost]\nhost_hour = 2\ncurrency = "EUR"\n').cost
    assert (cost.host_hour, cost.currency) == (2, "EUR")
