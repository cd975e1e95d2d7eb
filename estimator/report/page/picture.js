'use strict';
// Charts as files for slides: SVG with its colours written out, PNG at twice the size.

const kWrittenOut = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linejoin', 'paint-order', 'font-size', 'font-family', 'visibility'];

function svgText(chart) {
  const copy = chart.cloneNode(true);
  const [from, to] = [chart, copy].map(root => [root, ...root.querySelectorAll('*')]);
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    to[i].setAttribute('style', kWrittenOut.map(name => `${name}:${style.getPropertyValue(name)}`).join(';'));
    for (const name of ['tabindex', 'data-stop', 'role', 'class']) to[i].removeAttribute(name);
  });
  const {width, height} = chart.viewBox.baseVal;
  const surface = getComputedStyle(document.documentElement).getPropertyValue('--surface').trim();
  copy.prepend(svg('rect', {width, height, fill: surface}));
  fill(copy, {xmlns: kSvg, width, height, style: 'overflow:hidden'}, []);
  return new XMLSerializer().serializeToString(copy);
}

function save(blob, name) {
  const link = html('a', {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function savePng(chart, name) {
  const {width, height} = chart.viewBox.baseVal, image = new Image();
  image.onload = () => {
    const canvas = html('canvas', {width: 2 * width, height: 2 * height});
    canvas.getContext('2d').drawImage(image, 0, 0, 2 * width, 2 * height);
    canvas.toBlob(blob => save(blob, name));
  };
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(svgText(chart));
}

// Buttons below each chart of the section.
function offerPictures(section) {
  const chart = () => section.querySelector('.chart svg');
  if (!section.querySelector('.chart svg')) return;
  const button = (text, act) => html('button', {type: 'button', class: 'picture', 'aria-label': `${section.id} as ${text}`, onclick: act}, text);
  section.append(html('div', {class: 'row pictures'},
      button('SVG', () => save(new Blob([svgText(chart())], {type: 'image/svg+xml'}), section.id + '.svg')),
      button('PNG', () => savePng(chart(), section.id + '.png'))));
}
