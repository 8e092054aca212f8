import type { Purpose } from '../../src/providers/attempts.js'
import { factsAtStart, type SessionFacts } from '../../src/sessions/session-facts.js'

/** What a session carries that begins with a password. */
export const passwordFacts: SessionFacts = { ...factsAtStart({}), methods: ['pwd'], freshSince: 'now' }

/** A user of whom nothing was checked. */
export const unchecked = ({ id }: { id: string }) => ({ id, undoCount: null, passwordHash: null })

/** The purpose of an attempt to sign in, with a browser that has nothing from before. */
export const newSignIn: Purpose = { kind: 'sign_in', facts: {}, knownDevices: null, earlierSession: null }
