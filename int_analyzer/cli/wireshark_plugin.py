"""wireshark-plugin: INT and telemetry reports for Wireshark."""

from __future__ import annotations

from int_analyzer.cli.argument import ProfileOption, profile_from

EXAMPLES = """Examples:

\b
  int-analyzer wireshark-plugin > int.lua
  int-analyzer wireshark-plugin --profile fabric.toml > ~/.local/lib/wireshark/plugins/int.lua
  tshark -X lua_script:int.lua -r mirror.pcap -Y 'int.hop.queue_depth > 1000'
  tshark -X lua_script:int.lua -r mirror.pcap -T fields -e int.hop.node_id -e int.hop.queue_depth
"""


def wireshark_plugin(profile: ProfileOption = None) -> None:
    """Print a Wireshark plugin in Lua that dissects INT and telemetry reports.

    Fields are int.* and intreport.*, hops stand in path order, and what INT carries goes on to the dissector of RoCE. INT is found
    by its structure, or by the ports and the DSCP of the plugin's preferences, which begin as the profile says.
    """
    from int_analyzer.dissect.wireshark import plugin

    print(plugin(profile_from(profile)), end="")
