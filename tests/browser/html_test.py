#!/usr/bin/env python3
"""The HTML report in a real browser: html_test.py DLCOST FOLDER [--pictures].

Opens pages that dlcost writes in headless Chromium, and looks at what a reader would see and do: the
charts are there, hovering shows details, sorting sorts, filtering filters, zooming zooms, both themes
work, nothing is asked of the network and nothing is written to the console. axe-core looks for what
keeps people out, where it is found (accessibility.py). With --pictures, leaves a PNG of every page in
both themes in FOLDER. Exit code 77 (skipped) without a browser.
"""

import base64
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

from accessibility import find_axe
from chromium import Chromium, find_browser

DLCOST, FOLDER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED:", what)


def page(name, *arguments):
    path = os.path.join(FOLDER, name + ".html")
    subprocess.run([DLCOST, "html", *arguments, "-o", path], check=True)
    return path


def network(name, *settings):
    path = os.path.join(FOLDER, name + ".onnx")
    subprocess.run([DLCOST, "network", name, *settings, "-o", path], check=True)
    return path


def quiet(browser, name):
    """Nothing on the console, nothing asked of the network."""
    expect(not browser.errors, f"{name}: console: {browser.errors[:3]}")
    asked = [url for url in browser.requests if not url.startswith(("file:", "data:"))]
    expect(not asked, f"{name}: network: {asked[:3]}")
    browser.errors.clear()


def one_of_unknown(model):
    """The model with an operator that nobody knows: its page has the card for that."""
    with open(model, "rb") as file:
        content = file.read()
    path = os.path.join(FOLDER, "unknown.onnx")
    with open(path, "wb") as file:
        file.write(content.replace(b"GlobalAveragePool", b"GlobalAverageTool"))
    return path


def column(browser, number):
    return browser.run(
        "[...document.querySelectorAll('#kernels tbody tr:not(.spacer)')]"
        f".map(row => row.children[{number}].textContent)")


def tip(browser):
    return browser.run("(t => getComputedStyle(t).visibility === 'visible' ? t.textContent : '')"
                       "(document.getElementById('tip'))")


def look_at_one(browser, path):
    browser.open(path)
    counted = browser.run("[...document.querySelectorAll('#roofline .dot')].map(d => +d.dataset.count)")
    expect(sum(counted) == 56 and len(counted) > 20, f"a dot, or a part of one, for each kernel: {counted}")
    several = browser.run("[...document.querySelectorAll('#roofline .count')].map(t => t.textContent)")
    expect(sorted(several) == sorted(f"×{n}" for n in counted if n > 1), f"counts of dots: {several}")
    roofs = browser.run("document.querySelectorAll('#roofline .roof').length")
    expect(roofs == 3, f"roofs of what the model runs in, memory and L2: {roofs}")
    browser.click("#roofline button[data-roofs]")
    expect(browser.run("document.querySelectorAll('#roofline .roof').length") > 6, "roofs of other types on request")
    browser.click("#roofline button[data-roofs]")
    expect("FLOP/s" in browser.run("document.querySelector('#roofline svg').textContent"), "axis")
    expect(browser.run("document.querySelectorAll('#icicle .cell').length") > 50, "icicle cells")
    expect(browser.run("document.querySelector('#memory .edge').getAttribute('d').length") > 100, "memory")
    expect(browser.run("document.querySelectorAll('#device tbody tr').length") > 10, "device facts")
    expect("32.7 GMAC" in browser.run("document.getElementById('summary').textContent"), "totals")

    browser.hover("#roofline .dot:last-of-type")
    expect("intensity" in tip(browser), f"tooltip of a dot: '{tip(browser)}'")
    browser.hover("#icicle .cell")
    expect("share" in tip(browser), "tooltip of the icicle")
    browser.hover("#memory svg rect")
    expect("live activations" in tip(browser), "tooltip of memory")
    expect("Alive while" in browser.run("document.querySelector('#memory .alive').textContent"), "what is alive at the peak")

    browser.click("#kernels button[data-key=label]")
    names = column(browser, 0)
    expect(names == sorted(names) and len(names) > 10, "sorted by name")
    browser.click("#kernels button[data-key=label]")
    names = column(browser, 0)
    expect(names == sorted(names, reverse=True), "sorted by name, backwards")
    expect(browser.run("document.querySelector('#kernels th').getAttribute('aria-sort')") == "descending",
           "aria-sort")
    browser.click("#kernels input")
    browser.call("Input.insertText", text="layer1 conv2")
    names = column(browser, 0)
    expect(len(names) == 3 and all("layer1" in n and "conv2" in n for n in names), f"filter: {names}")
    browser.click("#kernels tbody tr:not(.spacer)")
    expect(browser.run("document.querySelectorAll('#roofline .dot.picked').length") == 1, "picked dot")
    expect(browser.run("document.querySelector('#details h3').textContent") == names[0], "the kernel in full")
    steps = browser.run("[...document.querySelectorAll('#details .steps tr')].map(row => row.children[0].textContent)")
    expect(steps[0] == "expected" and {"bound", "launch"} <= set(steps), f"where its time comes from: {steps}")

    ranges = "[...document.querySelectorAll('#roofline svg > text')].map(t => t.textContent).join()"
    whole = browser.run(ranges)
    browser.click("#roofline button[aria-label='Zoom in']")
    expect(browser.run(ranges) != whole, "zooming changes the axes")
    browser.click("#roofline .controls button:nth-of-type(3)")
    expect(browser.run(ranges) == whole, "back to the whole")

    names = browser.run("[...document.querySelectorAll('#icicle g')].map(g => g.dataset.name)")
    expect("1..5" in names, f"repeated layers are one: {names[:20]}")
    before = browser.run("document.querySelectorAll('#icicle .cell').length")
    browser.click("#icicle g[data-name=layer2] .cell")
    expect(browser.run("document.querySelectorAll('#icicle .cell').length") != before, "zoom")
    browser.click("#icicle button[data-mode=scope]")
    expect("..." not in browser.run("document.querySelector('#icicle svg').textContent").replace("…", ""), "every layer by itself")
    browser.click("#icicle button[data-mode=operator]")
    expect("Conv" in browser.run("document.querySelector('#icicle svg').textContent"), "by operator")
    quiet(browser, "one report")


# The parts of a page that a reader could not read: small text, and labels over dots or each other.
UNREADABLE = """(() => {
  const box = e => e.getBoundingClientRect();
  const small = [...document.querySelectorAll('svg text')].filter(t => t.textContent &&
      parseFloat(getComputedStyle(t).fontSize) * box(t.ownerSVGElement).width / t.ownerSVGElement.viewBox.baseVal.width < 10.9)
      .map(t => 'small: ' + t.textContent);
  const dots = [...document.querySelectorAll('#roofline .dot')].map(d => {
    const b = box(d);
    return {x: b.x + b.width / 2, y: b.y + b.height / 2, r: b.width / 2};
  });
  const level = [...document.querySelectorAll('#roofline .labels text:not([transform])')];
  const over = level.filter(t => dots.some(d => {
    const b = box(t), dx = Math.max(b.left - d.x, 0, d.x - b.right), dy = Math.max(b.top + 3 - d.y, 0, d.y - b.bottom + 3);
    return Math.hypot(dx, dy) < d.r - 1;
  })).map(t => 'over a dot: ' + t.textContent);
  const plot = document.querySelector('#plot rect')?.getBBox(), chart = plot && box(document.querySelector('#roofline svg'));
  const cut = [...document.querySelectorAll('#roofline .count')].filter(t => {
    const b = box(t);
    return b.left < chart.left + plot.x - 1 || b.right > chart.left + plot.x + plot.width + 1;
  }).map(t => 'cut: ' + t.textContent);
  const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['wider than the screen'] : [];
  const sections = [...document.querySelectorAll('section')].filter(s => [...s.querySelectorAll('svg *')].some(e => box(e).bottom > box(s).bottom + 1))
      .map(s => 'out of its card: ' + s.id);
  return [...small, ...over, ...cut, ...wide, ...sections];
})()"""


def look_at_sizes(browser, paths):
    for width, height in ((1280, 900), (390, 844)):
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        for path in paths:
            browser.open(path)
            time.sleep(0.2)  # charts follow the width in the next frame
            unreadable = browser.run(UNREADABLE)
            expect(not unreadable, f"{os.path.basename(path)} at {width} px: {unreadable[:5]}")
    browser.call("Emulation.setDeviceMetricsOverride", width=1320, height=900, deviceScaleFactor=1, mobile=False)
    quiet(browser, "sizes")


def press(browser, key):
    code = {"Tab": 9, "Enter": 13, "ArrowRight": 39, "End": 35, "Home": 36}[key]
    for kind in ("rawKeyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)


def look_by_keyboard(browser, path):
    browser.open(path)
    stop = "document.activeElement.closest('section')?.id + ' ' + document.activeElement.classList[0]"
    for _ in range(40):
        press(browser, "Tab")
        if browser.run(stop) == "roofline dot":
            break
    expect(browser.run(stop) == "roofline dot", "Tab reaches the dots")
    expect("limited by" in tip(browser), f"a focused dot tells: '{tip(browser)}'")
    first = browser.run("document.activeElement.getAttribute('aria-label')")
    press(browser, "ArrowRight")
    expect(browser.run("document.activeElement.getAttribute('aria-label')") != first, "arrows move between dots")
    press(browser, "Enter")
    expect(browser.run("document.querySelectorAll('#kernels tr.picked').length") == 1, "Enter picks a kernel")
    for _ in range(10):
        press(browser, "Tab")
        if browser.run(stop).startswith("icicle cell"):
            break
    before = browser.run("document.querySelectorAll('#icicle .cell').length")
    for _ in range(20):
        press(browser, "ArrowRight")
        if browser.run("document.activeElement.getAttribute('aria-label')").startswith("layer1:"):
            break
    press(browser, "Enter")
    expect(browser.run("document.querySelectorAll('#icicle .cell').length") != before, "Enter opens a part")
    for _ in range(10):
        press(browser, "Tab")
        if browser.run("document.activeElement.getAttribute('role')") == "slider":
            break
    press(browser, "Home")
    expect(browser.run("document.activeElement.getAttribute('aria-valuenow')") == "1", "Home goes to the start of the run")
    press(browser, "ArrowRight")
    press(browser, "Enter")
    expect(browser.run("document.activeElement.getAttribute('aria-valuenow')") == "2", "arrows move through the run")
    expect(browser.run("document.querySelectorAll('#memory .alive tr').length") > 0, "Enter lists what is alive")
    quiet(browser, "keyboard")


# The files that the buttons below a chart would save, as text or type and size.
SAVED = """(async () => {
  const blobs = [];
  URL.createObjectURL = blob => { blobs.push(blob); return '#'; };
  document.querySelectorAll('#roofline .picture').forEach(button => button.click());
  for (let i = 0; i < 100 && blobs.length < 2; ++i) await new Promise(done => setTimeout(done, 50));
  const png = new Uint8Array(await blobs[1].arrayBuffer());
  return {svg: await blobs[0].text(), png: [blobs[1].type, png.length, png[1], png[2], png[3]]};
})()"""


def look_at_bert(browser, path):
    browser.open(path)
    axis = browser.run("[...document.querySelectorAll('#roofline svg > text')].map(t => t.textContent)")
    expect("1 G" not in axis, f"no decades for a kernel of a thousandth of the time: {axis}")
    names = browser.run("[...document.querySelectorAll('#icicle g')].map(g => g.dataset.name)")
    expect("0..11" in names and "11" not in names, f"layers of equal work and bytes are one: {names}")
    quiet(browser, "BERT")


def look_at_pictures(browser, path):
    browser.open(path)
    saved = browser.run(SAVED)
    picture = xml.etree.ElementTree.fromstring(saved["svg"])
    circles = picture.findall(".//{http://www.w3.org/2000/svg}circle")
    expect(len(circles) > 20 and all("fill:rgb" in circle.get("style") or "fill:color" in circle.get("style") for circle in circles),
           "dots of the SVG, with their colours")
    expect("var(" not in "".join(element.get("style", "") for element in picture.iter()), "no variable is left in the SVG")
    expect(saved["png"][0] == "image/png" and saved["png"][1] > 10_000 and bytes(saved["png"][2:]) == b"PNG", f"PNG: {saved['png']}")
    quiet(browser, "pictures")


def look_at_paper(browser, paths):
    for path in paths:
        browser.open(path, dark=True)
        paper = base64.b64decode(browser.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])
        pages = len(re.findall(rb"/Type\s*/Page\b", paper))
        expect(1 <= pages <= 2, f"{os.path.basename(path)}: {pages} printed pages")
    browser.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    expect(browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(246, 246, 243)", "paper is light")
    browser.call("Emulation.setEmulatedMedia", media="", features=[])
    quiet(browser, "paper")


def look_at_themes(browser, path):
    def background():
        return browser.run("getComputedStyle(document.body).backgroundColor")
    browser.open(path, dark=False)
    light = background()
    browser.open(path, dark=True)
    dark = background()
    expect(light != dark, "the theme follows the system")
    browser.click("#theme")
    expect(background() == light, "the button changes the theme")
    quiet(browser, "themes")


def look_at_several(browser, path, count):
    browser.open(path)
    expect(browser.run("document.querySelectorAll('.tabs button').length") == count, "tabs")
    expect(browser.run("document.querySelectorAll('#comparison th').length") == count + 1, "columns")
    changes = browser.run("[...document.querySelectorAll('#comparison .changes')].map(c => c.textContent)")
    expect(len(changes) == count - 1 and any("Conv" in text for text in changes), f"what changed, in words: {changes[:1]}")
    first = browser.run("document.getElementById('summary').textContent")
    browser.click(".tabs button:last-child")
    expect(browser.run("document.getElementById('summary').textContent") != first, "another tab")
    expect(browser.run("document.querySelectorAll('#roofline .dot').length") > 10, "dots of the other")
    quiet(browser, "several reports")


def look_at_names(browser, devices, models, batches):
    heads = "[...document.querySelectorAll('#comparison th')].map(th => th.textContent).join()"
    browser.open(devices)
    expect("resnet50" not in browser.run(heads) and "MI300X" in browser.run(heads), f"devices alone tell columns apart: {browser.run(heads)}")
    browser.open(batches)
    expect(browser.run(heads) == "total,batch=1,batch=8", f"sizes alone tell columns apart: {browser.run(heads)}")
    browser.open(models)
    expect("A100" not in browser.run(heads) and "mobilenet-v2.onnx" in browser.run(heads), f"models alone tell columns apart: {browser.run(heads)}")


def look_without_device(browser, path):
    browser.open(path)
    expect("Where the work is" in browser.run("document.getElementById('icicle').textContent"), "work without a device")
    expect(browser.run("document.querySelectorAll('#icicle .cell').length") > 20, "cells without a device")
    expect("FLOP" in browser.run("document.querySelector('#comparison tbody tr:last-child').textContent"), "operators by work")
    quiet(browser, "no device")


# Of the numbers of the heat map against their cells, as WCAG computes it.
CONTRASTS = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const luminance = color => {
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return [...document.querySelectorAll('#map .cell')].map(cell => {
    const [u, v] = [cell, cell.nextElementSibling].map(e => luminance(getComputedStyle(e).fill));
    return (Math.max(u, v) + 0.05) / (Math.min(u, v) + 0.05);
  });
})()"""


def look_at_sweep(browser, path):
    browser.open(path)
    curves = "document.querySelectorAll('#curves .curve').length"
    expect(browser.run(curves) == 6, f"a curve for each device and length: {browser.run(curves)}")
    points = browser.run("document.querySelectorAll('#curves .point').length")
    expect(points == 2 * 5 * 3, f"points: {points}")
    expect(browser.run("document.querySelectorAll('#map .cell').length") == 15, "cells of one device")
    for dark in (False, True):
        browser.open(path, dark)
        contrasts = browser.run(CONTRASTS)
        expect(len(contrasts) == 15 and min(contrasts) >= 4, f"numbers stand out from their cells: {min(contrasts):.1f}")
    browser.open(path)
    browser.hover("#curves .point:last-of-type")
    expect("items per second" in tip(browser), f"tooltip of a point: '{tip(browser)}'")
    before = browser.run("document.querySelector('#curves .curve').getAttribute('points')")
    browser.click("#curves .row:nth-of-type(2) button:nth-of-type(2)")
    expect(browser.run(curves) == 10, "curves over the other size")
    browser.click("#curves .row button:nth-of-type(3)")
    expect(browser.run("document.querySelector('#curves .curve').getAttribute('points')") != before, "another metric")
    expect(browser.run("document.querySelectorAll('#points tbody tr').length") == 30, "the points as a table")
    quiet(browser, "sweep")


# Scrolls the page and the table, one step per frame; the slowest and the median frame in ms.
SCROLL = """(async () => {
  const box = document.querySelector('#kernels .scroll');
  const frame = () => new Promise(requestAnimationFrame);
  const times = [];
  for (let i = 0; i < 120; ++i) {
    const start = performance.now();
    if (i % 2) box.scrollTop = box.scrollHeight * i / 120;
    else window.scrollTo(0, document.body.scrollHeight * i / 120);
    await frame();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return {median: times[60], slowest: times[119]};
})()"""


def look_at_profile(browser, path):
    browser.open(path)
    expect(browser.run("document.querySelectorAll('#roofline .dot').length") == 2, "a dot per kernel with a time")
    expect("A100" in browser.run("document.getElementById('summary').textContent"), "device of a profile")
    expect(browser.run("document.querySelectorAll('#by_name tbody tr').length") == 3, "kernels by name")
    browser.hover("#roofline .dot:last-of-type")
    expect("reached" in tip(browser), f"tooltip of a measured kernel: '{tip(browser)}'")
    quiet(browser, "profile")


def look_at_run(browser, path):
    """Measured beside expected, of the same kernels."""
    browser.open(path)
    expect(browser.run("document.querySelectorAll('#roofline .ring').length") > 20, "rings where it was measured")
    browser.click("#kernels tbody tr:not(.spacer)")
    expect("Measured" in browser.run("document.querySelector('#details').textContent"), "measured beside expected")
    expect("measured time" in browser.run("document.getElementById('summary').textContent"), "measured time in the totals")
    quiet(browser, "measured run")


def look_at_counters(browser, path):
    """Counters without times: what was executed is shown, and that there are no times is said."""
    browser.open(path)
    expect("counters and no times" in browser.run("document.getElementById('summary').textContent"), "no times, which is said")
    heads = browser.run("[...document.querySelectorAll('#kernels th')].map(th => th.textContent.trim())")
    expect("measured FLOP" in heads and "measured" not in heads, f"columns of what was measured: {heads}")
    quiet(browser, "counters")


def profile(name):
    """Two kernels with FLOPs, bytes and times, and one whose FLOPs were not counted."""
    table = os.path.join(FOLDER, name + ".csv")
    with open(table, "w", encoding="utf-8") as file:
        file.write("name,time_us,flops_f32,dram_bytes\ngemm,500,8000000000,120000000\nrelu,80,10000000,140000000\ncopy,4,,2000000\n")
    path = os.path.join(FOLDER, name + ".html")
    subprocess.run([DLCOST, "measured", table, "--gpu", "a100", "--format", "html", "-o", path], check=True)
    return path


def look_at_large(browser, path):
    size = os.path.getsize(path)
    expect(size < 5_000_000, f"5,000 kernels in {size} bytes")
    start = time.monotonic()
    browser.open(path)
    opened = time.monotonic() - start
    kernels = browser.run("JSON.parse(document.getElementById('data').textContent)"
                          ".reports[0].kernel_table.rows.length")
    expect(kernels >= 5000, f"{kernels} kernels")
    axis = "[...document.querySelectorAll('#roofline svg > text')].map(t => t.textContent)"
    dots = "[...document.querySelectorAll('#roofline .dot')].reduce((sum, d) => sum + Number(d.dataset.count), 0)"
    expect("100 M" not in browser.run(axis), f"three decades for a kernel of 0.002 % of the time: {browser.run(axis)}")
    near = browser.run(dots)
    expect("far away" in browser.run("document.querySelector('#roofline .hint').textContent"), "what lies far away is said")
    browser.click("#roofline .controls button:nth-of-type(3)")
    expect("100 M" in browser.run(axis) and browser.run(dots) > near, "all of it on request")
    parts = "[...document.querySelectorAll('#icicle g')].map(g => g.dataset.name)"
    for _ in range(6):  # down to a kernel
        small = browser.run(parts + ".findIndex((name, i) => i > 0 && name.endsWith('small parts'))")
        if small < 0:
            break
        browser.run(f"document.querySelectorAll('#icicle .cell')[{small}].dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    opened_parts = browser.run(parts)
    expect(not any(name.endswith("small parts") for name in opened_parts[1:]) and len(opened_parts) > 1,
           f"small parts open: {opened_parts[:4]}")
    frames = browser.run(SCROLL)
    # Printed, not asserted: times depend on the machine.
    expect(column(browser, 0), "rows at the end of the table")
    print(f"{kernels} kernels: {size / 1e6:.2f} MB, open in {opened:.2f} s, "
          f"frames of {frames['median']:.1f} ms, slowest {frames['slowest']:.1f} ms")
    quiet(browser, "large report")


# When something was first seen, in ms; where the machine is busy the page may be complete before.
PAINT = """(async () => {
  for (;;) {
    const [paint] = performance.getEntriesByName('first-contentful-paint');
    if (paint) return paint.startTime;
    await new Promise(done => setTimeout(done, 20));
  }
})()"""


def look_at_fifty_thousand(browser, path):
    size = os.path.getsize(path)
    expect(size < 8_000_000, f"50,000 kernels in {size} bytes")
    browser.open(path)
    kernels = browser.run("JSON.parse(document.getElementById('data').textContent).reports[0].kernel_table.rows.length")
    expect(kernels >= 50_000, f"{kernels} kernels")
    paint, frames = browser.run(PAINT), browser.run(SCROLL)
    expect(column(browser, 0), "rows at the end of the table")
    # Printed, not asserted: times depend on the machine.
    print(f"{kernels} kernels: {size / 1e6:.2f} MB, first paint after {paint:.0f} ms, "
          f"frames of {frames['median']:.1f} ms, slowest {frames['slowest']:.1f} ms")
    quiet(browser, "fifty thousand kernels")


# What axe-core finds serious: [rule, help, the first element].
SERIOUS = """axe.run(document, {resultTypes: ['violations']}).then(result => result.violations
    .filter(v => v.impact === 'serious' || v.impact === 'critical').map(v => [v.id, v.help, v.nodes[0].html.slice(0, 120)]))"""


def look_for_barriers(browser, paths):
    axe = find_axe(FOLDER)
    if axe is None:
        print("skipped: axe-core is not here, and no package index gives it")
        return
    for path in paths:
        for dark in (False, True):
            browser.open(path, dark)
            browser.run(axe + "\n;0")
            found = browser.run(SERIOUS)
            expect(not found, f"{os.path.basename(path)}, {'dark' if dark else 'light'}: {found}")
    quiet(browser, "barriers")


def take_pictures(browser, pages):
    """At a smaller scale, and the first screens: docs/pictures/ holds some of them."""
    for path in pages:
        for width in (1280, 390):
            for dark in (False, True):
                browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=0.6 if width > 600 else 0.8, mobile=False)
                browser.open(path, dark)
                time.sleep(0.3)  # charts follow the width in the next frame
                height = min(browser.run("document.documentElement.scrollHeight"), 1500)
                browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=0.6 if width > 600 else 0.8, mobile=False)
                browser.picture(path.replace(".html", f"-{width}-{'dark' if dark else 'light'}.png"), full=False)


def main():
    if find_browser() is None:
        print("skipped: no Chromium here")
        sys.exit(77)
    os.makedirs(FOLDER, exist_ok=True)
    resnet = network("resnet50")
    one = page("one", resnet, "--gpu", "a100", "--batch", "8")
    several = page("several", resnet, network("mobilenet-v2"), "--gpu", "a100", "--gpu", "h100")
    bare = page("bare", resnet, network("mobilenet-v2"))
    curves = os.path.join(FOLDER, "sweep.html")
    subprocess.run([DLCOST, "sweep", network("bert-base", "layers=2"), "--batch", "1:256:x4", "--dim", "sequence=32,128,512",
                    "--gpu", "t4,a100", "--format", "html", "-o", curves], check=True)
    large = page("large", network("bert-base", "layers=560"), "--gpu", "a100", "--dim", "sequence=128")
    measured = profile("measured")
    bert = page("bert", network("bert-base"), "--gpu", "a100", "--dim", "sequence=128")
    llama = page("llama", network("llama3-8b"), "--gpu", "h100", "--dim", "sequence=2048")
    devices = page("devices", resnet, "--gpu", "a100,h100,mi300x")
    finished = [os.path.join(FOLDER, f"batch-{size}.json") for size in (1, 8)]
    for path, size in zip(finished, ("1", "8")):
        subprocess.run([DLCOST, resnet, "--gpu", "a100", "--batch", size, "--format", "json", "-o", path], check=True)
    batches = page("batches", *finished)
    models = page("models", resnet, network("mobilenet-v2"), "--gpu", "a100")
    fixtures = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "profiles", "fixtures")
    counted = page("counted", network("alexnet"), "--batch", "1", "--gpu", "p4", "--measured", os.path.join(fixtures, "alexnet_p4_nvprof_metrics.csv"))
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "examples", "measured")
    run = page("run", resnet, "--batch", "1", "--fusion", "none", "--gpu", os.path.join(folder, "two-zen5-cores.yaml"),
               "--measured", os.path.join(folder, "resnet50.json.gz"))
    compared = os.path.join(FOLDER, "compared.html")
    subprocess.run([DLCOST, "compare", resnet, "--batch", "1", "--fusion", "none", "--gpu", os.path.join(folder, "two-zen5-cores.yaml"),
                    "--measured", os.path.join(folder, "resnet50.json.gz"), "--format", "html", "-o", compared], check=True)
    step = page("step", resnet, "--gpu", "a100", "--train", "adamw", "--batch", "8")
    open_end = page("open", one_of_unknown(resnet), "--gpu", "a100")
    curve = os.path.join(FOLDER, "curve.html")
    subprocess.run([DLCOST, "sweep", resnet, "--batch", "1:64:x2", "--gpu", "t4", "--format", "html", "-o", curve], check=True)
    # A page of every kind.
    every = [one, several, batches, bare, large, measured, counted, curves, curve, bert, llama, devices, models, run, compared, step, open_end]
    with Chromium() as browser:
        look_at_one(browser, one)
        look_at_themes(browser, one)
        look_at_sizes(browser, every)
        look_by_keyboard(browser, one)
        look_at_bert(browser, bert)
        look_at_paper(browser, every)
        look_at_pictures(browser, one)
        look_at_several(browser, several, 4)
        look_at_names(browser, devices, models, batches)
        look_at_sweep(browser, curves)
        look_without_device(browser, bare)
        look_at_large(browser, large)
        look_at_profile(browser, measured)
        look_at_run(browser, run)
        look_at_counters(browser, counted)
        look_at_fifty_thousand(browser, page("fifty", network("bert-base", "layers=5600", "width=64", "inner=64", "heads=2", "vocabulary=100"),
                                             "--gpu", "a100", "--dim", "sequence=32"))
        look_for_barriers(browser, every)
        if "--pictures" in sys.argv:
            take_pictures(browser, [one, bert, llama, large, models, devices, run, measured, curves])
    print("failed" if failures else "passed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
