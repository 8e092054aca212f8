export type LazySetup<Setup> = { readonly get: () => Setup; readonly close: () => void }

/** Opens with the first `get`, and only once. What was never opened needs no `close`. */
export const createLazySetup = <Setup extends { readonly close: () => void }>(open: () => Setup): LazySetup<Setup> => {
  let setup: Setup | undefined
  return {
    get: () => {
      setup ??= open()
      return setup
    },
    close: () => setup?.close(),
  }
}
