// Node starts worker threads from JavaScript files of its own accord, past any TypeScript loader. Built code finds its
// workers beside itself; code that runs from source (the tests) has to reach over to the same place under dist/.
const home = new URL('../../', import.meta.url)

export const compiledFile = (name: string, from: string): URL => {
  const beside = new URL(name.startsWith('.') ? name : `./${name}`, from)
  if (!isTypeScript(from)) return beside

  // Compared with our own place rather than searched for, because a checkout may itself live below a folder called src.
  const sources = new URL('src/', home).href
  if (!beside.href.startsWith(sources)) throw new Error(`No compiled file for ${name}: ${from} is not below ${sources}`)
  const compiled = beside.href.slice(sources.length).replace(/\.ts$/, '.js')
  return new URL(`dist/${compiled}`, home)
}

const isTypeScript = (url: string) => new URL(url).pathname.endsWith('.ts')
