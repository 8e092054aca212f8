import type { Clock } from '../lib/clock.js'
import { minutes, seconds } from '../lib/durations.js'
import { RecentMap } from '../lib/recent.js'
import type { Database } from '../platform/database/database.js'
import type { Log } from '../platform/log.js'
import { createRounds } from '../platform/rounds.js'
import { type NamedApplication, swappedSentence, unknownClientSentence } from './applications.js'
import * as store from './applications.store.js'

/** How often a sentence was noted, and when last. */
type Occurrences = { count: number; seenAt: Date }
type NotedSentence = Occurrences & { sentence: string }

/**
 * The errors of one kind of one application that wait to be written. Requests choose the values in the sentences, and a flood of different
 * sentences must not become a flood of writes. So in each window a sentence is written once, and at most `maxKept` new sentences are
 * written. The others are counted here until the next window begins. If there are too many different ones, the newest stay.
 */
const createUnwrittenErrors = ({ window, maxKept }: { window: number; maxKept: number }) => {
  let windowBegan = Number.NEGATIVE_INFINITY
  let newSentencesLeft = maxKept
  const writtenInWindow = new Set<string>()
  /** The sentences that wait, the oldest first. */
  const waiting = new RecentMap<string, Occurrences>(maxKept)

  const take = (sentences: readonly string[]) =>
    sentences.flatMap((sentence): NotedSentence[] => {
      const occurrences = waiting.get(sentence)
      waiting.delete(sentence)
      writtenInWindow.add(sentence)
      return occurrences ? [{ sentence, ...occurrences }] : []
    })
  const takeAll = () => take([...waiting.keys()])

  const takeNew = () => {
    const taken = take(
      [...waiting.keys()].filter((sentence) => !writtenInWindow.has(sentence)).slice(0, newSentencesLeft),
    )
    newSentencesLeft -= taken.length
    return taken
  }

  return {
    add: ({ sentence, count, seenAt }: NotedSentence) => {
      const before = waiting.get(sentence)
      waiting.set(sentence, { count: count + (before?.count ?? 0), seenAt })
    },
    /** Takes the errors that may be written now. */
    takeDue: (now: Date) => {
      if (now.getTime() - windowBegan < window) return takeNew()
      windowBegan = now.getTime()
      newSentencesLeft = maxKept
      writtenInWindow.clear()
      return takeAll()
    },
    takeAll,
  }
}

/**
 * The kinds of errors, and how many different errors of each kind are kept for an application: 20 in all, besides `normal_end`. Anybody can
 * cause errors of addresses, requests and clients, so each kind has its own number, and these kinds cannot crowd out the others.
 */
const maxErrors = {
  redirect_address: 3,
  request: 4,
  client: 3,
  grant: 5,
  logout_address: 2,
  logout_notice: 2,
  /** A logout notice that the application has answered with 400. It is not sent again. */
  logout_refused: 1,
  /** No error, but a request that rightly ended without a code. It is only counted, by the error code that the application was sent. */
  normal_end: 8,
} as const
export type ErrorKind = keyof typeof maxErrors
const normalEnd: ErrorKind = 'normal_end'

/** Kinds that are logged elsewhere, or that are no errors. */
const unloggedKinds: readonly ErrorKind[] = ['logout_notice', 'logout_refused', normalEnd]

const writeInterval = 1 * minutes
/** How often the service looks for waiting errors that are due. */
const checkInterval = 10 * seconds

export type ApplicationErrors = ReturnType<typeof createApplicationErrors>

/** The request in which an error was noted, for the log. */
type Requested = { requestId?: string }
type ErrorQueue = { applicationId: string; kind: ErrorKind; errors: ReturnType<typeof createUnwrittenErrors> }

/**
 * Writes an error at once if the same error was not written in this minute. Otherwise it is written when the minute is over, or when the
 * service stops.
 */
const createWriter = (database: Database, clock: Clock, log: Log) => {
  const queues = new Map<string, ErrorQueue>()
  const writesUnderWay = new Set<Promise<void>>()

  const queueOf = (applicationId: string, kind: ErrorKind) => {
    const key = `${applicationId} ${kind}`
    const knownQueue = queues.get(key)
    if (knownQueue) return knownQueue
    const errors = createUnwrittenErrors({ window: writeInterval, maxKept: maxErrors[kind] })
    const queue = { applicationId, kind, errors }
    queues.set(key, queue)
    return queue
  }

  /** Never fails: an error that could not be written waits again. */
  const write = async ({ applicationId, kind, errors }: ErrorQueue, dueErrors: readonly NotedSentence[]) => {
    for (const error of dueErrors) {
      const { sentence: message, count, seenAt } = error
      await store.upsertError(database, { applicationId, kind, message, count, seenAt }).catch((err: unknown) => {
        errors.add(error)
        log.warn({ err }, 'an error of an application could not be written')
      })
    }
    if (dueErrors.length > 0)
      await store
        .deleteOldErrors(database, applicationId, kind, maxErrors[kind])
        .catch((err: unknown) => log.warn({ err }, 'old errors of an application could not be deleted'))
  }

  const writeDue = async () => {
    for (const queue of queues.values()) await write(queue, queue.errors.takeDue(clock.now()))
  }
  const onFailure = (reason: string) => log.warn({ reason }, 'errors of applications could not be written')
  const rounds = createRounds({ run: writeDue, interval: checkInterval, onFailure })

  return {
    start: rounds.start,
    stop: async () => {
      await rounds.stop([...writesUnderWay])
      for (const queue of queues.values()) await write(queue, queue.errors.takeAll())
    },
    add: (applicationId: string, kind: ErrorKind, sentence: string) => {
      const queue = queueOf(applicationId, kind)
      queue.errors.add({ sentence, count: 1, seenAt: clock.now() })
      const writing = write(queue, queue.errors.takeDue(clock.now())).finally(() => writesUnderWay.delete(writing))
      writesUnderWay.add(writing)
    },
  }
}

/** The recent errors of applications in plain words, for the operator who asks why a sign-in does not work. */
export const createApplicationErrors = ({ database, clock, log }: { database: Database; clock: Clock; log: Log }) => {
  const writer = createWriter(database, clock, log)

  /** Never delays or fails the caller. Values in the sentence come from `quoted`. */
  const note = ({ id, name }: NamedApplication, kind: ErrorKind, sentence: string, origin?: Requested) => {
    if (!unloggedKinds.includes(kind))
      log.info({ requestId: origin?.requestId, application: id, name, reason: sentence }, 'application refused')
    writer.add(id, kind, sentence)
  }

  return {
    start: writer.start,
    stop: writer.stop,

    note,

    /**
     * A client_id that is not known is only logged: there is no application whose list of errors could have it. But if it is the secret of
     * one (`owner`), that application is told.
     */
    noteUnknown: (clientId: string, owner: NamedApplication | undefined, origin: Requested) =>
      owner
        ? note(owner, 'client', swappedSentence, origin)
        : log.info({ requestId: origin.requestId, reason: unknownClientSentence(clientId) }, 'application refused'),

    /** The errors, and how often requests ended without a code although nothing was wrong. Both lists begin with the latest. */
    list: async (applicationId: string) => {
      const rows = (await store.selectErrors(database, applicationId)).map(({ seen_at: seenAt, ...row }) => ({
        ...row,
        seenAt,
      }))
      return {
        errors: rows.filter(({ kind }) => kind !== normalEnd),
        normalEnds: rows.filter(({ kind }) => kind === normalEnd),
      }
    },
  }
}
