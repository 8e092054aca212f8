// Node starts worker threads without the TypeScript loader, so they must be JavaScript. Built code finds its workers in
// the same folder; code that runs from source (the tests) uses the same path under dist/.
const home = new URL('../../', import.meta.url)

export const compiledFile = (name: string, from: string): URL => {
  const beside = new URL(name.startsWith('.') ? name : `./${name}`, from)
  if (!isTypeScript(from)) return beside

  // Compared with the place of this file, because the project itself may be in a folder called src.
  const sources = new URL('src/', home).href
  if (!beside.href.startsWith(sources)) throw new Error(`No compiled file for ${name}: ${from} is not below ${sources}`)
  const compiled = beside.href.slice(sources.length).replace(/\.ts$/, '.js')
  return new URL(`dist/${compiled}`, home)
}

const isTypeScript = (url: string) => new URL(url).pathname.endsWith('.ts')
