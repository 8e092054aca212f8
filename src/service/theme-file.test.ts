import { describe, expect, it } from 'vitest'
import { designStyle } from '../lib/brand.js'
import { contrastOfHex, designOf, shadesOf } from '../lib/design.js'

import { designIn } from './operator-files.js'

const accent = '#1f6f5c'
const theme = {
  light: { accent: '#7A1F5C', background: '#fff', line: '#dddddd' },
  dark: { accent: '#f0a', surface: '#101018' },
  radii: { card: 0, control: 2 },
  fonts: { text: ['Inter Tight', 'Söhne', 'sans-serif'] },
}

describe('a theme', () => {
  it('takes the place of what it names, in both schemes, and of nothing else', () => {
    const [light = '', dark = ''] = designStyle(designIn(theme, accent)).split('@media')
    expect(light).toContain('--background:#fff;')
    expect(light).toContain('--accent:#7a1f5c;')
    expect(light).toContain('--surface:#ffffff;')
    expect(light).toContain('--radius-card:0px;')
    expect(light).toContain('--radius-panel:14px;')
    expect(light).toContain("--font-text:'Inter Tight','Söhne',sans-serif;")
    expect(dark).toContain('--accent:#ff00aa;')
    expect(dark).toContain('--surface:#101018;')
    expect(designStyle(designIn({}, accent))).toBe(designStyle(designOf(accent)))
  })

  it('has links that can be read on its own surfaces, also in a light scheme that is dark', () => {
    const night = { background: '#101018', surface: '#181824', raised: '#202030' }
    const { text, edge } = shadesOf('#10204d', { ...designOf(accent).colours.light, ...night })
    for (const surface of Object.values(night)) {
      expect(contrastOfHex(text, surface)).toBeGreaterThanOrEqual(4.5)
      expect(contrastOfHex(edge, surface)).toBeGreaterThanOrEqual(3)
    }
  })

  it.each<[string, unknown, string | RegExp]>([
    ['no object', [], 'the file is no JSON object'],
    ['no scheme', { light: null }, 'light is no JSON object'],
    ['a key that is not known', { colors: {} }, 'the file has the key "colors", which is not known'],
    ['a colour that is not known', { light: { acent: '#fff' } }, 'light has the key "acent", which is not known'],
    ['the shadow', { light: { shadow: 'none' } }, 'light has the key "shadow", which is not known'],
    ['a colour by name', { dark: { text: 'white' } }, 'dark.text must be a colour such as #2f6fed'],
    ['an end of the style', { dark: { text: '#fff}</style>' } }, 'dark.text must be a colour'],
    ['a radius that is too large', { radii: { card: 99 } }, 'radii.card must be a whole number from 0 to 32'],
    ['a radius with a unit', { radii: { card: '4px' } }, 'radii.card must be a whole number from 0 to 32'],
    ['a font as one text', { fonts: { text: 'Inter, sans-serif' } }, 'fonts.text must be a list'],
    ['a font that ends the style', { fonts: { text: ["x';}body{", 'serif'] } }, 'fonts.text[0] must be the name'],
    ['a font that ends the element', { fonts: { text: ['</style>', 'serif'] } }, 'fonts.text[0] must be the name'],
    ['a font from elsewhere', { fonts: { text: ['url(//x.test)', 'serif'] } }, 'fonts.text[0] must be the name'],
    ['no font for other devices', { fonts: { code: ['Fira Code'] } }, 'fonts.code must end with one of system-ui,'],
    [
      'text that is hard to read',
      { light: { muted: '#999999' } },
      'light.muted (#999999) on light.background (#f5f4f0) has a contrast of 2.58:1, and needs at least 4.5:1',
    ],
    [
      'a surface on which text is hard to read',
      { dark: { surface: '#8a8a8a' } },
      /^dark\.text \(#ebeeec\) on dark\.surface \(#8a8a8a\) has a contrast of 2\.\d+:1, and needs at least 4\.5:1$/,
    ],
    ['fields whose border cannot be seen', { light: { edge: '#cccccc' } }, /^light\.edge .* and needs at least 3:1$/],
    ['a sign of danger that cannot be read', { dark: { danger: '#550000' } }, /^dark\.danger .* on dark\.surface /],
  ])('with %s is refused with its place', (_, file, sentence) => {
    expect(() => designIn(file, accent)).toThrow(sentence)
  })
})
