import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contrastOfHex, designOf, isColour } from './design.js'

const shadesOf = (accent: string) => designOf(accent).accent
const anyColour = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`)

/** Degrees on the colour wheel; greys have no hue, and nearly black or white colours none that could be seen. */
const hueApart = (left: string, right: string) => {
  const [a, b] = [hueOf(left), hueOf(right)]
  if (a === undefined || b === undefined) return 0
  const apart = Math.abs(a - b)
  return Math.min(apart, 360 - apart)
}

const hueOf = (colour: string) => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((from) => Number.parseInt(colour.slice(from, from + 2), 16))
  const most = Math.max(red, green, blue)
  const range = most - Math.min(red, green, blue)
  if (range < 24) return undefined
  const sixths =
    most === red ? (green - blue) / range : most === green ? (blue - red) / range + 2 : (red - green) / range + 4
  return (sixths * 60 + 360) % 360
}

describe('the shades of an accent', () => {
  it('leave a colour alone that can be read as it is', () => {
    expect(shadesOf('#1f6f5c').light).toEqual({
      fill: '#1f6f5c',
      onFill: '#ffffff',
      edge: '#1f6f5c',
      text: '#1f6f5c',
    })
  })

  it('fill with the colour itself, and write on it in white or black', () => {
    for (const [accent, onFill] of [
      ['#ffe066', '#111413'],
      ['#ff3366', '#111413'],
      ['#10204d', '#ffffff'],
    ] as const) {
      const { light, dark } = shadesOf(accent)
      expect([light.fill, dark.fill, light.onFill, dark.onFill]).toEqual([accent, accent, onFill, onFill])
    }
  })

  it('darken a pale colour on light and lift a deep one on dark', () => {
    expect(contrastOfHex(shadesOf('#ffe680').light.text, '#f5f4f0')).toBeGreaterThan(4.5)
    expect(contrastOfHex(shadesOf('#10204d').dark.text, '#222624')).toBeGreaterThan(4.5)
  })

  it('hold WCAG AA for whatever colour is configured, in both schemes', () => {
    fc.assert(
      fc.property(anyColour, (accent) => {
        const { light, dark } = shadesOf(accent)
        for (const [shades, surfaces] of [
          [light, ['#f5f4f0', '#ffffff']],
          [dark, ['#121413', '#222624']],
        ] as const) {
          expect(shades.fill).toBe(accent)
          expect(contrastOfHex(shades.fill, shades.onFill)).toBeGreaterThanOrEqual(4.5)
          expect(hueApart(shades.text, accent)).toBeLessThan(8)
          for (const surface of surfaces) {
            expect(contrastOfHex(shades.text, surface)).toBeGreaterThanOrEqual(4.5)
            expect(contrastOfHex(shades.edge, surface)).toBeGreaterThanOrEqual(3)
          }
        }
      }),
      { numRuns: 500 },
    )
  })

  it('read three digits as six', () => {
    expect(shadesOf('#05a')).toEqual(shadesOf('#0055aa'))
  })

  it('take nothing that could end the style they are written into', () => {
    expect(isColour('#fff')).toBe(true)
    for (const value of ['red', '#ff', '#fffff', '#ffffff}', '</style>', '']) {
      expect(isColour(value)).toBe(false)
      expect(() => shadesOf(value)).toThrow('A colour is written as')
    }
  })
})
