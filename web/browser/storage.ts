/** A browser may refuse storage altogether. Then nothing is kept, and nothing is found. */
const guardedStorage = (storage: () => Storage) => ({
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
      // The browser refuses storage: nothing is kept.
    }
  },
})

/** For this tab only. */
export const tabStorage = guardedStorage(() => sessionStorage)

/** For all tabs of this site. */
export const siteStorage = guardedStorage(() => localStorage)
