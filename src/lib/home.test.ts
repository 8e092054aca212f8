import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { builtFile, home, homeOf } from './home.js'

describe('the folder of the program', () => {
  it.each([
    ['a source', 'file:///opt/latchkey/src/lib/home.ts'],
    ['the program', 'file:///opt/latchkey/dist/main.js'],
    ['a part of the program', 'file:///opt/latchkey/dist/parts/serve-ABC.js'],
    ['a compiled module', 'file:///opt/latchkey/dist/modules/lib/home.js'],
  ])('is found from %s', (_, url) => {
    expect(homeOf(url).href).toBe('file:///opt/latchkey/')
  })

  it('may itself be below a folder called src or dist', () => {
    expect(homeOf('file:///usr/src/app/dist/parts/x.js').href).toBe('file:///usr/src/app/')
    expect(homeOf('file:///usr/src/app/src/lib/home.ts').href).toBe('file:///usr/src/app/')
    expect(homeOf('file:///mnt/dist/latchkey/src/lib/home.ts').href).toBe('file:///mnt/dist/latchkey/')
  })

  it('is this project, with a build', () => {
    expect(existsSync(new URL('package.json', home))).toBe(true)
    expect(existsSync(builtFile('main.js'))).toBe(true)
  })
})
