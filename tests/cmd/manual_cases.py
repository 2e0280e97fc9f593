"""The manual pages against the program."""

import os
import re

from harness import read, test

MANUAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "man")
COMMANDS = ["diff", "pack", "apply", "verify", "cat"]


def options_of_page(name):
    """{"-o", "--output"} from the list entries of a page, such as `.It Fl o , Fl -output Ar file`."""
    found = set()
    for line in read(os.path.join(MANUAL, name + ".1")).decode().splitlines():
        if line.startswith(".It Fl "):
            found |= {"-" + option for option in re.findall(r"Fl (-?[a-z][a-z-]*)", line)}
    return found


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


@test("the page of the program names every variable of the environment that --help mentions")
def environment(t):
    page = read(os.path.join(MANUAL, "wdelta.1")).decode()
    mentioned = set()
    for command in COMMANDS:
        mentioned |= set(re.findall(r"WDELTA_[A-Z]+", t.good(command, "--help").text()))
    assert mentioned == set(re.findall(r"WDELTA_[A-Z]+", page)), mentioned
