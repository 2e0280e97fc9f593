"""The manual pages against the program."""

import os
import re

from harness import read, test

MANUAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "man")
COMMANDS = ["diff", "pack", "apply", "verify", "stats", "cat", "push", "pull", "log", "tag", "revert", "gc", "id", "doctor"]
REMOTE_COMMANDS = ["verify", "stats", "push", "pull", "log", "tag", "revert", "gc", "id", "doctor"]  # all their remotes are URLs
# Settings that are none of a single command, and so have no option.
WITHOUT_OPTION = {"WDELTA_S3_ANONYMOUS", "WDELTA_S3_ADDRESSING", "WDELTA_SSE", "WDELTA_SSE_KMS_KEY_ID",
                  "WDELTA_HF_S3_ENDPOINT"}


def options_of_page(name):
    """{"-o", "--output"} from the list entries of a page, such as `.It Fl o , Fl -output Ar file`."""
    found = set()
    for line in read(os.path.join(MANUAL, name + ".1")).decode().splitlines():
        if line.startswith(".It Fl "):
            found |= {"-" + option for option in re.findall(r"Fl (-?[a-z][a-z-]*)", line)}
    return found


def transfer_options_of_page():
    """Those in the section Transfers of the program's page, where each entry is `.It Xo Fl -jobs Ar n Xc`."""
    page = read(os.path.join(MANUAL, "wdelta.1")).decode()
    section = re.search(r"^\.Ss Transfers\n(.*?)^\.S[sh] ", page, re.MULTILINE | re.DOTALL).group(1)
    return {"-" + option for line in section.splitlines() if line.startswith(".It ")
            for option in re.findall(r"Fl (-?[a-z][a-z-]*)", line)}


def options_of_help(text):
    return set(re.findall(r"(?:^  |^      |, )(--?[a-z][a-z-]*)", text, re.MULTILINE))


@test("every option that --help lists is described in the command's page, and the other way round")
def pages(t):
    for command in COMMANDS:
        text = t.good(command, "--help").text()
        own, common = text.split("\nCommon options\n")
        own = own.split("\nOptions\n")[1]
        assert options_of_help(own), command
        assert options_of_help(own) == options_of_page("wdelta-" + command), command
        assert options_of_help(common) | {"--version"} == options_of_page("wdelta"), options_of_help(common)


@test("every page has the sections that a reader looks for, and the list of commands is complete")
def sections(t):
    for name in ["wdelta"] + ["wdelta-" + command for command in COMMANDS]:
        page = read(os.path.join(MANUAL, name + ".1")).decode()
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
            assert "\n.Sh %s\n" % section in page, (name, section)
    listed = re.findall(r"^  ([a-z]+) +\S", t.good("help").text(), re.MULTILINE)
    page = read(os.path.join(MANUAL, "wdelta.1")).decode()
    assert listed == re.findall(r"^\.It Cm ([a-z]+)", page, re.MULTILINE), listed


@test("every command has the same name in cmd/, lib/calls/, man/ and tests/cmd/")
def names(t):
    root = os.path.join(MANUAL, "..")
    for command in COMMANDS:
        for path in ("cmd/%s.cc", "lib/calls/%s.cc", "man/wdelta-%s.1", "tests/cmd/%s_cases.py"):
            assert os.path.exists(os.path.join(root, path % command)), path % command


@test("the section about transfers describes just the options that the pages of all commands with remotes repeat")
def transfers(t):
    described = transfer_options_of_page()
    assert {"--jobs", "--bwlimit", "--retries", "--endpoint", "--ca-file"} <= described, described
    shared = None
    for command in REMOTE_COMMANDS:
        own = options_of_help(t.good(command, "--help").text().split("\nCommon options\n")[0].split("\nOptions\n")[1])
        assert described <= own, (command, described - own)
        assert described <= options_of_page("wdelta-" + command), command
        shared = own if shared is None else shared & own
    assert shared == described, shared ^ described


@test("the page of the program names the variables of the environment that --help mentions and those without option")
def environment(t):
    page = read(os.path.join(MANUAL, "wdelta.1")).decode()
    mentioned = set()
    for command in COMMANDS:
        mentioned |= set(re.findall(r"WDELTA_[A-Z0-9_]+", t.good(command, "--help").text()))
    assert not mentioned & WITHOUT_OPTION
    documented = set(re.findall(r"WDELTA_[A-Z0-9_]+", page))
    assert mentioned | WITHOUT_OPTION == documented, (mentioned | WITHOUT_OPTION) ^ documented
