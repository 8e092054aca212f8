import type { KeyState } from '../signing-keys/schedule.js'
import { isUnopened, isUnreadable, publishedAt, type ReadKeys } from './key-records.js'
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

/** For operators. */
export const createListKeys = (read: ReadKeys) => async (): Promise<ListedApplicationKey[]> => {
  const set = await read()
  const published = new Map(publishedAt(set).map((key) => [key.id, key]))
  return set.keys.map((key) => {
    const { id, algorithm, createdAt, signsFrom } = key
    const { state = isUnreadable(key) ? 'unreadable' : 'hints', trustedUntil: end } = published.get(id) ?? {}
    return {
      id,
      algorithm,
      state: isUnopened(key) ? 'unopened' : state,
      createdAt,
      signsFrom: new Date(signsFrom),
      ...(end !== undefined && { trustedUntil: new Date(end) }),
    }
  })
}
