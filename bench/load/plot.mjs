// Bars as an SVG that follows the light or dark scheme of the page. Each bar is a share of the limit in its group. What is far
// above the limit is another kind of work, and stands in the table only.
/** @typedef {import('./results.mjs').Section} Section */

const width = 760
const left = 330
const row = 26
const gap = 46
const longest = width - left - 120

const escaped = (/** @type {string} */ text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('`', '')
const rounded = (/** @type {number} */ number) => number.toLocaleString('en', { maximumFractionDigits: 0 })

/** @type {(bar: import('./results.mjs').Bar, y: number) => string} */
const drawBar = ({ name, ratio, perSecond }, y) => {
  const kind = name.startsWith('Latchkey') ? 'ours' : name.startsWith('limit') ? 'limit' : 'other'
  const length = Math.max(1, ratio * longest)
  const middle = y + row / 2 + 4
  return [
    `<text class="name" x="${left - 10}" y="${middle}">${escaped(name)}</text>`,
    `<rect class="${kind}" x="${left}" y="${y + 4}" width="${length.toFixed(1)}" height="${row - 8}" rx="3"/>`,
    `<text x="${(left + length + 8).toFixed(1)}" y="${middle}">${ratio.toFixed(2)} · ${rounded(perSecond)}/s</text>`,
  ].join('\n')
}

/** @type {(sections: readonly Section[]) => string} */
export const plot = (sections) => {
  let y = 0
  const parts = sections.map(({ title, bars: all }) => {
    const bars = all.filter(({ ratio }) => ratio <= 1.1)
    const heading = `<text class="title" x="0" y="${y + 28}">${escaped(title.replace(/:.*/, ''))}</text>`
    const drawn = bars.map((bar, place) => drawBar(bar, y + gap + place * row - 8))
    y += gap + bars.length * row
    return [heading, ...drawn].join('\n')
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" width="${width}" height="${y}" role="img">
<title>Requests a second as a share of what the same machine can do at most</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #1f2933 }
.title { font-weight: 600; font-size: 15px }
.name { text-anchor: end }
.ours { fill: #2f6fed }
.limit { fill: #9aa5b1 }
.other { fill: #d9822b }
@media (prefers-color-scheme: dark) { text { fill: #e4e7eb } .ours { fill: #6b9bff } .limit { fill: #7b8794 } }
</style>
${parts.join('\n')}
</svg>
`
}
