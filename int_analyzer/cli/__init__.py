"""The command int-analyzer: a verb parses, calls, prints. Heavy imports happen inside the verb, so that --help stays quick.

Exit codes: 0 done, whatever was found · 1 with --fail-on-congestion when something was found, or doctor sees a fault ·
2 bad input or bad usage, one line on stderr · 130 interrupted.
"""

from __future__ import annotations

import io
import signal
import sys
from typing import Annotated

import typer

from int_analyzer import __version__
from int_analyzer.cli import (
    analyze,
    anonymize,
    connections,
    crosscheck,
    decode,
    doctor,
    flows,
    formats,
    generate,
    graph,
    jobs,
    lab,
    profile,
    score,
    show,
    sidecar,
    top,
    warmup,
    wireshark_plugin,
)
from int_analyzer.cli.complaint import complain, complain_of_system, flush_output
from int_analyzer.errors import IntAnalyzerError

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
    help="""Name the congested switch port from in-band telemetry (INT, IOAM) and RoCEv2 in mirrored traffic.

Every verb takes classic pcap and pcapng, plain, .gz or .zst, and says more with --help.""",
    epilog="""Examples:

\b
  int-analyzer analyze mirror.pcap            which port is congested, since when, and whose traffic it is
  int-analyzer analyze day/ --json            all captures of a folder, one JSON document
  int-analyzer decode mirror.pcap --table hops --format csv
  int-analyzer graph mirror.pcap -o paths.svg
  int-analyzer doctor                         what is installed, what would not work and why""",
)
app.command("analyze", short_help="which port is congested, since when, and whose traffic it is", epilog=analyze.EXAMPLES)(analyze.analyze)
app.command("decode", short_help="the rows: packets, hops, RoCEv2, reports, mirrors, options", epilog=decode.EXAMPLES)(decode.decode)
app.command("flows", short_help="a row per flow: bytes, path, marks, retransmissions", epilog=flows.EXAMPLES)(flows.flows)
app.command("connections", short_help="a row per RoCEv2 connection: loss, completion times, RTT", epilog=connections.EXAMPLES)(
    connections.connections
)
app.command("jobs", short_help="storage I/O and collectives: which host is late", epilog=jobs.EXAMPLES)(jobs.jobs)
app.command("show", short_help="single packets, header by header", epilog=show.EXAMPLES)(show.show)
app.command("graph", short_help="the paths as json, dot, graphml or svg", epilog=graph.EXAMPLES)(graph.graph)
app.command("sidecar", short_help="findings as they start, change and end, beside a mirror port", epilog=sidecar.EXAMPLES)(sidecar.sidecar)
app.command("top", short_help="the sidecar on the terminal: what is congested, second by second", epilog=top.EXAMPLES)(top.top)
app.command("wireshark-plugin", short_help="INT and telemetry reports for Wireshark, as a Lua plugin", epilog=wireshark_plugin.EXAMPLES)(
    wireshark_plugin.wireshark_plugin
)
app.command("formats", short_help="telemetry formats, dialects and carriers that are read", epilog=formats.EXAMPLES)(formats.formats)
app.command("crosscheck", short_help="our decode against tshark, one difference a line", epilog=crosscheck.EXAMPLES)(crosscheck.crosscheck)
app.command("anonymize", short_help="a capture without addresses and payload, for others", epilog=anonymize.EXAMPLES)(anonymize.anonymize)
app.command("generate", cls=generate.Command, short_help="captures of simulated fabrics, with the right answer beside them")(
    generate.generate
)
app.add_typer(profile.app, name="profile", short_help="draft or check a profile: units, names, ports")
app.command("score", short_help="how often the right port is named, against known answers", epilog=score.EXAMPLES)(score.score)
app.add_typer(lab.app, name="lab", short_help="real data planes on this machine, with a known answer")
app.command("doctor", short_help="what is installed, what would not work and why", epilog=doctor.EXAMPLES)(doctor.doctor)
app.command("warmup", short_help="compile the kernels into the cache", epilog=warmup.EXAMPLES)(warmup.warmup)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"int-analyzer {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    try:
        result = app(args=arguments, prog_name="int-analyzer", standalone_mode=False)
        flush_output()
    except UnicodeEncodeError as error:
        character = ascii(error.object[error.start])
        return complain(f"the output's encoding, {error.encoding}, has no {character}: set PYTHONIOENCODING=utf-8")
    except OSError as error:
        return complain_of_system(error)
    except IntAnalyzerError as error:
        return complain(str(error))
    except typer.TyperException as error:
        return complain(_one_line(error))
    except typer.Abort:
        return 130
    return result if isinstance(result, int) else 0


def run() -> None:
    """Entry point: like main, but ends as Unix tools do when the reader of a pipe has gone (`… | head`)."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.isatty():
        # what is only looked at may have a ? in it, a file may not
        sys.stdout.reconfigure(errors="replace")
    sys.exit(main())


def _one_line(error: typer.TyperException) -> str:
    message = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{message} (see {context.command_path} --help)" if context is not None else message
