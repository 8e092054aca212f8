import { describe, expect, it } from 'vitest'
import { compiledFile } from './compiled.js'

const home = new URL('../../', import.meta.url).href

describe('the compiled file of a worker', () => {
  it('is beside the code that asks when that code is JavaScript', () => {
    const found = compiledFile('estimate.worker.js', 'file:///opt/latchkey/dist/platform/workers/pool.js')

    expect(found.href).toBe('file:///opt/latchkey/dist/platform/workers/estimate.worker.js')
  })

  it('is below dist when the code that asks runs from source', () => {
    const found = compiledFile('estimate.worker.js', `${home}src/platform/workers/pool.ts`)

    expect(found.href).toBe(`${home}dist/platform/workers/estimate.worker.js`)
  })

  it('may be named by its source and by a relative path', () => {
    const from = `${home}src/platform/workers/pool.ts`

    expect(compiledFile('./estimate.worker.ts', from).href).toBe(`${home}dist/platform/workers/estimate.worker.js`)
    expect(compiledFile('../database/pglite.worker.js', from).href).toBe(
      `${home}dist/platform/database/pglite.worker.js`,
    )
  })

  it('leaves other folders called src alone', () => {
    const found = compiledFile('x.worker.js', 'file:///usr/src/app/dist/lib/x.js')

    expect(found.href).toBe('file:///usr/src/app/dist/lib/x.worker.js')
    expect(compiledFile('x.worker.js', `${home}src/lib/src/x.ts`).href).toBe(`${home}dist/lib/src/x.worker.js`)
  })

  it('refuses to guess for a source outside the project', () => {
    expect(() => compiledFile('x.worker.js', 'file:///somewhere/else/src/x.ts')).toThrow('No compiled file')
  })
})
