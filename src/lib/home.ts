/** The folder above the last `src/` or `dist/` of an address: the bundler decides how deep below `dist/` a module is. */
export const homeOf = (url: string) =>
  new URL(url.slice(0, Math.max(url.lastIndexOf('/src/'), url.lastIndexOf('/dist/')) + 1))

/** The folder of the program, with its package.json, migrations/ and dist/: the same from the sources and from the build. */
export const home = homeOf(import.meta.url)

/** A file that the build has made. Tests run the sources and take this from dist/ too: Node starts only JavaScript in threads. */
export const builtFile = (path: string) => new URL(`dist/${path}`, home)
