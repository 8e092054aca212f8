import {
  type ApplicationKey,
  isUnopened,
  isUnreadable,
  publishedKeys,
  type ReadKeys,
} from './application-key-records.js'
import type { KeyState } from './schedule.js'
import type { ApplicationAlgorithm } from './signed-token.js'

export type ListedApplicationKey = {
  id: string
  algorithm: ApplicationAlgorithm
  /** `hints`: only its public half is left, for ID tokens that come back as a hint. */
  state: KeyState | 'hints' | 'unopened' | 'unreadable'
  createdAt: Date
  signsFrom: Date
  trustedUntil?: Date
}

const stateOf = (key: ApplicationKey, published: { state: KeyState } | undefined) => {
  if (isUnopened(key)) return 'unopened'
  if (published) return published.state
  return isUnreadable(key) ? 'unreadable' : 'hints'
}

/** Lists every key with its state, for operators. */
export const createListKeys = (read: ReadKeys) => async (): Promise<ListedApplicationKey[]> => {
  const keySet = await read()
  const published = new Map(publishedKeys(keySet).map((key) => [key.id, key]))
  return keySet.keys.map((key) => {
    const { id, algorithm, createdAt, signsFrom } = key
    const trustedUntil = published.get(id)?.trustedUntil
    return {
      id,
      algorithm,
      state: stateOf(key, published.get(id)),
      createdAt,
      signsFrom: new Date(signsFrom),
      ...(trustedUntil !== undefined && { trustedUntil: new Date(trustedUntil) }),
    }
  })
}
