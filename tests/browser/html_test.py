#!/usr/bin/env python3
"""The HTML report in a real browser: html_test.py DLCOST FOLDER [--pictures].

Opens pages that dlcost writes in headless Chromium, and looks at what a reader would see and do: the
charts are there, hovering shows details, sorting sorts, filtering filters, zooming zooms, both themes
work, nothing is asked of the network and nothing is written to the console. With --pictures, leaves a
PNG of every page in both themes in FOLDER. Exit code 77 (skipped) without a browser.
"""

import os
import subprocess
import sys
import time

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


def column(browser, number):
    return browser.run(
        "[...document.querySelectorAll('#kernels tbody tr:not(.spacer)')]"
        f".map(row => row.children[{number}].textContent)")


def tip(browser):
    return browser.run("(t => getComputedStyle(t).visibility === 'visible' ? t.textContent : '')"
                       "(document.getElementById('tip'))")


def look_at_one(browser, path):
    browser.open(path)
    expect(browser.run("document.querySelectorAll('#roofline .dot').length") > 40, "dots")
    expect(browser.run("document.querySelectorAll('#roofline .roof').length") >= 5, "roofs")
    expect("FLOP/s" in browser.run("document.querySelector('#roofline svg').textContent"), "axis")
    expect(browser.run("document.querySelectorAll('#icicle .cell').length") > 50, "icicle cells")
    expect(browser.run("document.querySelector('#memory .edge').getAttribute('d').length") > 100, "memory")
    expect(browser.run("document.querySelectorAll('#device tbody tr').length") > 10, "device facts")
    expect("4.09 GMAC" in browser.run("document.getElementById('summary').textContent"), "totals")

    browser.hover("#roofline .dot:last-of-type")
    expect("intensity" in tip(browser), f"tooltip of a dot: '{tip(browser)}'")
    browser.hover("#icicle .cell")
    expect("share" in tip(browser), "tooltip of the icicle")
    browser.hover("#memory svg rect")
    expect("live activations" in tip(browser), "tooltip of memory")

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

    before = browser.run("document.querySelectorAll('#icicle .cell').length")
    browser.click("#icicle g[data-name=layer2] .cell")
    expect(browser.run("document.querySelectorAll('#icicle .cell').length") != before, "zoom")
    browser.click("#icicle button[data-mode=operator]")
    expect("Conv" in browser.run("document.querySelector('#icicle svg').textContent"), "by operator")
    quiet(browser, "one report")


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
    first = browser.run("document.getElementById('summary').textContent")
    browser.click(".tabs button:last-child")
    expect(browser.run("document.getElementById('summary').textContent") != first, "another tab")
    expect(browser.run("document.querySelectorAll('#roofline .dot').length") > 10, "dots of the other")
    quiet(browser, "several reports")


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
    frames = browser.run(SCROLL)
    # Printed, not asserted: times depend on the machine.
    expect(column(browser, 0), "rows at the end of the table")
    print(f"{kernels} kernels: {size / 1e6:.2f} MB, open in {opened:.2f} s, "
          f"frames of {frames['median']:.1f} ms, slowest {frames['slowest']:.1f} ms")
    quiet(browser, "large report")


def take_pictures(browser, pages):
    for path in pages:
        for dark in (False, True):
            browser.open(path, dark)
            height = browser.run("document.documentElement.scrollHeight")
            browser.call("Emulation.setDeviceMetricsOverride", width=1320, height=min(height, 4000),
                         deviceScaleFactor=1, mobile=False)
            browser.picture(path.replace(".html", "-dark.png" if dark else "-light.png"))


def main():
    if find_browser() is None:
        print("skipped: no Chromium here")
        sys.exit(77)
    os.makedirs(FOLDER, exist_ok=True)
    resnet = network("resnet50")
    one = page("one", resnet, "--gpu", "a100")
    several = page("several", resnet, network("mobilenet-v2"), "--gpu", "a100", "--gpu", "h100")
    large = page("large", network("bert-base", "layers=560"), "--gpu", "a100", "--dim", "sequence=128")
    measured = profile("measured")
    with Chromium() as browser:
        look_at_one(browser, one)
        look_at_themes(browser, one)
        look_at_several(browser, several, 4)
        look_at_large(browser, large)
        look_at_profile(browser, measured)
        if "--pictures" in sys.argv:
            take_pictures(browser, [one, several, large, measured])
    print("failed" if failures else "passed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
