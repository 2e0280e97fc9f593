"""Reports to look at in the browser, and ways to look at them."""

import tiny

HOSTILE = [
    "</title><script>window.harmed=1</script>",
    "</style><script>window.harmed=1</script>",
    "</script><script>window.harmed=1</script>",
    "<img src=x onerror=window.harmed=1>",
    '" onmouseover="window.harmed=1" autofocus onfocus="window.harmed=1',
    "' onload='window.harmed=1",
    "]]></svg><script>window.harmed=1</script>",
    "<!-- and then nothing",
    "model.layers.0.<svg onload=window.harmed=1>.weight",
    "model.layers.1.\u202egnp.exe.weight",
    '" onfocus="window.harmed=1" tabindex="0.layers.0.mlp.weight',
    "tab\there, escape \x1b[31m, end",
    "A" * 100000,
]


def model(changes):
    """A small model of three layers; `changes`: {name: how many elements of it are not the base's}."""
    names = ["model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"]
    for layer in range(3):
        names += ["model.layers.%d.%s.weight" % (layer, module)
                  for module in ("self_attn.q_proj", "self_attn.o_proj", "mlp.up_proj", "input_layernorm")]
    return {name: tiny.ramp(1000, {i: 0x3C01 + 7 * i for i in range(changes.get(name, 0))}) for name in names}


CHANGES = {"model.embed_tokens.weight": 9, "lm_head.weight": 100, "model.layers.0.mlp.up_proj.weight": 20,
           "model.layers.1.self_attn.q_proj.weight": 3, "model.layers.2.self_attn.o_proj.weight": 1}


def made(t, form="html", *options, tensors=None, base="a.safetensors"):
    """A report on two checkpoints, as file:// address."""
    before, after = tensors or (model({}), model(CHANGES))
    tiny.write_safetensors(t.path(base), before)
    tiny.write_safetensors(t.path("b.safetensors"), after)
    name = "report." + form
    t.good("stats", base, "b.safetensors", "--by", "tensor", "--format", form, "-o", name, *options)
    return "file://" + t.path(name)


def hostile_pair():
    return tuple({name: tiny.ramp(40, change) for name in HOSTILE} for change in ({}, {3: 0x1234}))


def column(browser, title):
    """The figures or words under a heading of the table that sorts, from top to bottom."""
    return browser.run("""
        const table = document.querySelector("table.sortable");
        const at = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent.trim() === arguments[0]);
        return [...table.tBodies[0].rows].map((row) => row.cells[at].textContent);""", title)


def sort_states(browser):
    return browser.run("""return [...document.querySelectorAll("table.sortable th")].map(
        (heading) => heading.getAttribute("aria-sort"))""")


def expect_quiet(browser):
    complaints = [event["message"] for event in browser.events("browser")]
    assert not complaints, complaints
