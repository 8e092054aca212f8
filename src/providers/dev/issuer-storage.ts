import type { Adapter, AdapterPayload } from 'oidc-provider/lib/provider.js'

const maxEntries = 5000

type Entry = { payload: AdapterPayload; until: number }

/** The memory of the issuer. When it is full, the oldest entry is dropped. */
export const createIssuerStorage = () => {
  const entries = new Map<string, Entry>()

  const read = (key: string) => {
    const found = entries.get(key)
    if (!found || found.until > Date.now()) return found?.payload
    entries.delete(key)
    return undefined
  }

  const write = (key: string, payload: AdapterPayload, expiresIn: number) => {
    const [oldest] = entries.size >= maxEntries ? entries.keys() : []
    if (oldest !== undefined) entries.delete(oldest)
    entries.set(key, { payload, until: Date.now() + expiresIn * 1000 })
  }

  const findBy = (model: string, field: 'uid' | 'userCode', value: string) =>
    [...entries.keys()]
      .filter((key) => key.startsWith(`${model}:`))
      .map(read)
      .find((payload) => payload?.[field] === value)

  return (model: string): Adapter => ({
    upsert: async (id, payload, expiresIn) => {
      // No session is kept, so that the chooser is shown each time.
      if (model !== 'Session') write(`${model}:${id}`, payload, expiresIn)
    },
    find: async (id) => read(`${model}:${id}`),
    findByUid: async (uid) => findBy(model, 'uid', uid),
    findByUserCode: async (userCode) => findBy(model, 'userCode', userCode),
    consume: async (id) => {
      const payload = read(`${model}:${id}`)
      if (payload) payload.consumed = Math.floor(Date.now() / 1000)
    },
    destroy: async (id) => {
      entries.delete(`${model}:${id}`)
    },
    revokeByGrantId: async (grantId) => {
      for (const [key, { payload }] of entries) if (payload.grantId === grantId) entries.delete(key)
    },
  })
}
