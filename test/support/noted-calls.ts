/** Tells which functions of the stores no test has called. */
export const createNotedCalls = () => {
  const called = new Set<string>()
  const stores: [name: string, store: object][] = []
  return {
    /** The functions of a store, which note that they were called. */
    noting: <Store extends object>(name: string, store: Store): Store => {
      stores.push([name, store])
      return new Proxy(
        { ...store },
        {
          get: (target, key, receiver) => {
            called.add(`${name}.${String(key)}`)
            return Reflect.get(target, key, receiver)
          },
        },
      )
    },
    uncalled: () =>
      stores.flatMap(([name, store]) =>
        Object.keys(store)
          .map((each) => `${name}.${each}`)
          .filter((each) => !called.has(each)),
      ),
  }
}
