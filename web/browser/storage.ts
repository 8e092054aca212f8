/** A browser may refuse storage altogether. Then nothing is kept, and nothing is found. */
const guarded = (storage: () => Storage) => ({
  read: (key: string) => {
    try {
      return storage().getItem(key) ?? undefined
    } catch {
      return undefined
    }
  },
  /** Undefined removes what was there. */
  write: (key: string, value: string | undefined) => {
    try {
      if (value === undefined) storage().removeItem(key)
      else storage().setItem(key, value)
    } catch {
      // See above.
    }
  },
})

/** For this tab only. */
export const tabStorage = guarded(() => sessionStorage)

/** For all tabs of this site. */
export const siteStorage = guarded(() => localStorage)
