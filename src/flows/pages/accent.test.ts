import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contrast, isColour, shadesOf } from './accent.js'

const anyColour = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`)

describe('the shades of an accent', () => {
  it('leave a colour alone that can be read as it is', () => {
    expect(shadesOf('#1f6f5c').light).toEqual({ fill: '#1f6f5c', onFill: '#ffffff', text: '#1f6f5c' })
  })

  it('darken a pale colour on light and lift a deep one on dark', () => {
    expect(contrast(shadesOf('#ffe680').light.text, '#f5f4f0')).toBeGreaterThan(4.5)
    expect(contrast(shadesOf('#10204d').dark.text, '#222624')).toBeGreaterThan(4.5)
  })

  it('hold WCAG AA for whatever colour is configured, in both schemes', () => {
    fc.assert(
      fc.property(anyColour, (accent) => {
        const { light, dark } = shadesOf(accent)
        for (const [shades, surfaces] of [
          [light, ['#f5f4f0', '#ffffff']],
          [dark, ['#121413', '#222624']],
        ] as const) {
          expect(contrast(shades.fill, shades.onFill)).toBeGreaterThanOrEqual(4.5)
          for (const surface of surfaces) {
            expect(contrast(shades.text, surface)).toBeGreaterThanOrEqual(4.5)
            expect(contrast(shades.fill, surface)).toBeGreaterThanOrEqual(3)
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
