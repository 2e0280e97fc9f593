"""The recorded packs and deltas: what each is called in testdata/recorded/packs, the command that made it, the
checkpoint that it starts from, and the one that it leads to."""

from collections import namedtuple

Recipe = namedtuple("Recipe", "name words base result")  # base: None for an anchor

CODECS = ("raw", "zstd", "gaps", "classes", "planes", "adaptive")
LEVELS = ("fast", "default", "max")
KINDS = ("kinds-base", "kinds-new")
BLOCKS = ("blocks-base.safetensors", "blocks-new.safetensors")
STEP = ("run/1", "run/2")


def recipes():
    for codec in CODECS:
        yield Recipe("kinds-codec-%s.wdp" % codec, ("pack", *KINDS, "--codec", codec), "kinds-base", "kinds-result")
        if codec != "raw":  # that one has the size of the model
            yield Recipe("blocks-codec-%s.wdp" % codec, ("pack", *BLOCKS, "--codec", codec), *BLOCKS)
    for level in LEVELS:
        yield Recipe("kinds-level-%s.wdp" % level, ("pack", *KINDS, "--level", level), "kinds-base", "kinds-result")
        yield Recipe("blocks-level-%s.wdp" % level, ("pack", *BLOCKS, "--level", level), *BLOCKS)
        yield Recipe("anchor-level-%s.wdp" % level, ("pack", "--anchor", "run/1", "--level", level), None, "run/1")
    yield Recipe("anchor-kinds.wdp", ("pack", "--anchor", "kinds-new"), None, "kinds-result")
    for codec in ("raw", "zstd", "planes"):
        yield Recipe("anchor-codec-%s.wdp" % codec, ("pack", "--anchor", "run/1", "--codec", codec), None, "run/1")
    yield Recipe("chosen-files.wdp", ("pack", *KINDS, "--include", "extra.bin", "--exclude", "notes/*"), "kinds-base",
                 "kinds-chosen")
    yield Recipe("plain.safetensors", ("diff", *KINDS), "kinds-base", "kinds-result")
    yield Recipe("plain-blocks.safetensors", ("pack", *BLOCKS, "--format", "plain"), *BLOCKS)
    yield Recipe("of-plain.wdp", ("pack", "--base", "kinds-base", "plain.safetensors"), "kinds-base", "kinds-result")
    for step in (1, 2):
        yield Recipe("step-%d.wdp" % step, ("pack", "run/%d" % (step - 1), "run/%d" % step), "run/%d" % (step - 1),
                     "run/%d" % step)
    yield Recipe("squashed.wdp", ("pack", "--base", "run/0", "step-1.wdp", "step-2.wdp"), "run/0", "run/2")
    canonical = ("pack", "kinds-base", "values-new", "--format", "canonical")
    yield Recipe("canonical-xor", canonical, "kinds-base", "values-new")
    yield Recipe("canonical-xor-adler32", (*canonical, "--checksum", "adler32"), "kinds-base", "values-new")
    yield Recipe("canonical-overwrite", (*canonical, "--encoding", "overwrite"), "kinds-base", "values-new")
    yield Recipe("canonical-named", ("pack", *STEP, "--format", "canonical", "--version-name", "000002",
                                     "--base-version-name", "000001"), *STEP)
    yield Recipe("skyrl", ("pack", "kinds-base", "types-new", "--format", "skyrl"), "kinds-base", "types-new")
    yield Recipe("trl-indices.safetensors", ("pack", *STEP, "--format", "trl"), *STEP)
    yield Recipe("trl-raw.safetensors", ("pack", *STEP, "--format", "trl", "--encoding", "raw"), *STEP)


RECIPES = list(recipes())


def is_foreign(recipe):
    return recipe.name.startswith(("canonical", "skyrl", "trl"))
