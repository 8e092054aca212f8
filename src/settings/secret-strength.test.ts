import { describe, expect, it } from 'vitest'
import { loadConfig } from './config.js'
import { weaknessOfSecret } from './secrets.js'

const secret = 'f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4'
const other = [...secret].reverse().join('')

describe('several secrets', () => {
  it.each([';', '; ', ' ', '\n', '\t'])('with %j between them are refused', (mark) => {
    const fault = 'must have a comma between secrets, and not a semicolon, a space or a line break'
    expect(weaknessOfSecret(`${other}${mark}${secret}`)).toBe(fault)
    expect(() => loadConfig({ JWT_SECRET: `${secret},${other}${mark}${secret}` })).toThrow(`JWT_SECRET: ${fault}`)
    expect(loadConfig({ JWT_SECRET: `${other},${mark.trim()} ${secret}` }).jwtSecret?.at(-1)).toContain(secret)
  })

  it.each([';', ' '])('are not seen in one secret that has %j in it', (mark) => {
    const words = ['orbit', 'velvet', 'cactus', 'jigsaw', 'marble', 'pewter', 'quartz', 'hazelnut', 'umbrella', 'fjord']
    const halves = `${secret.slice(0, 40)}${mark}${secret.slice(40)}`
    for (const allowed of [words.join(mark), halves, `${secret}${mark}x!${other}`])
      expect(loadConfig({ JWT_SECRET: allowed }).jwtSecret).toEqual([allowed])
  })
})

it('the key of stored secrets is a list of strong secrets too', () => {
  expect(loadConfig({ SEALING_KEY: `${secret}, ${other}` }).sealingKey).toEqual([secret, other])
  expect(() => loadConfig({ SEALING_KEY: `${secret},${'a'.repeat(80)}` })).toThrow('SEALING_KEY: must be random')
  expect(loadConfig({}).sealingKey).toBeUndefined()
})
