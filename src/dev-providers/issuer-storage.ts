import type { Adapter, AdapterPayload } from 'oidc-provider/lib/provider.js'

const mostKept = 5000

type Kept = { payload: AdapterPayload; until: number }

/** The memory of the issuer. When it is full, the oldest entry is dropped. */
export const createIssuerStorage = () => {
  const kept = new Map<string, Kept>()

  const read = (key: string) => {
    const found = kept.get(key)
    if (!found || found.until > Date.now()) return found?.payload
    kept.delete(key)
    return undefined
  }

  const write = (key: string, payload: AdapterPayload, expiresIn: number) => {
    const [oldest] = kept.size >= mostKept ? kept.keys() : []
    if (oldest !== undefined) kept.delete(oldest)
    kept.set(key, { payload, until: Date.now() + expiresIn * 1000 })
  }

  const findBy = (model: string, field: 'uid' | 'userCode', value: string) =>
    [...kept.keys()]
      .filter((key) => key.startsWith(`${model}:`))
      .map(read)
      .find((payload) => payload?.[field] === value)

  return (model: string): Adapter => ({
    upsert: async (id, payload, expiresIn) => {
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
      kept.delete(`${model}:${id}`)
    },
    revokeByGrantId: async (grantId) => {
      for (const [key, { payload }] of kept) if (payload.grantId === grantId) kept.delete(key)
    },
  })
}
