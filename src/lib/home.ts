/** The folder above the last `src/` or `dist/` of a URL. How deep a module is below `dist/` depends on the bundler. */
export const homeOf = (url: string) =>
  new URL(url.slice(0, Math.max(url.lastIndexOf('/src/'), url.lastIndexOf('/dist/')) + 1))

/** The folder of the program, with its package.json, migrations/ and dist/. It is the same for the sources and for the build. */
export const home = homeOf(import.meta.url)

/** A file that the build has made. Tests run the sources, but take such files from dist/ too: Node starts only JavaScript in threads. */
export const builtFile = (path: string) => new URL(`dist/${path}`, home)
