import { useEffect, useState } from 'preact/hooks'
import type { Answer } from '#client/client.js'
import type { AdminEvent } from '#contract/admin/admin-bodies.js'
import { type EventKind, eventKinds, mailEventKinds } from '#contract/events.js'
import { saveFile } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useDebounced, useStableCallback } from '../hooks/stable.js'
import type { Words } from '../words/catalogue.js'
import { fill } from '../words/format.js'
import { useRefusalSentence } from '../words/refusals.js'
import { calls } from './calls.js'
import { EventTable, useAdminEventTitle } from './event-table.js'
import { asCsv, asJsonLines } from './files.js'
import { type Place, replaceQuery } from './place.js'
import { Loaded, Screen, useAdmin, usePages } from './screen.js'
import { FilterField, FilterSelect } from './table.js'

export const EventsScreen = ({ query }: Pick<Place, 'query'>) => {
  const words = useWords('admin')
  const [typed, setTyped] = useState<EventFilter>({ ...noFilter, ...query })
  const settledFilter = useDebounced(JSON.stringify(typed))
  const filter: EventFilter = JSON.parse(settledFilter)
  useEffect(() => {
    const { since: chosen, ...rest } = JSON.parse(settledFilter) as EventFilter
    replaceQuery('events', { ...rest, since: chosen === 'all' ? '' : chosen })
  }, [settledFilter])
  const pages = usePages<AdminEvent>(
    (after) => askForEvents(filter, after === undefined ? {} : { after }),
    settledFilter,
  )
  const changeFilter = (change: Partial<EventFilter>) => setTyped((current) => ({ ...current, ...change }))
  return (
    <Screen title={words.events}>
      <section class="panel">
        <Filter filter={typed} onChange={changeFilter} />
        <EventTools filter={filter} events={pages.items} onArrived={pages.addNewer} />
        <Loaded value={pages.items} {...pages}>
          {(events) => (
            <EventTable
              events={events}
              empty={
                <>
                  <p>{words.eventList.empty}</p>
                  {JSON.stringify(filter) !== JSON.stringify(noFilter) && (
                    <Button onPress={() => setTyped(noFilter)}>{words.clearFilter}</Button>
                  )}
                </>
              }
              pages={{ next: pages.next, onMore: pages.loadMore }}
            />
          )}
        </Loaded>
      </section>
    </Screen>
  )
}

type FilterProps = { filter: EventFilter; onChange: (change: Partial<EventFilter>) => void }

const Filter = ({ filter, onChange }: FilterProps) => {
  const words = useWords('admin').eventList
  const titleOf = useAdminEventTitle()
  const daysText = useDaysText()
  const kinds = eventKinds
    .map((kind) => ({ value: kind as string, label: titleOf({ kind, reason: '…' }) }))
    .sort((left, right) => left.label.localeCompare(right.label))
  const several = filter.kind.includes(',')
    ? [
        {
          value: filter.kind,
          label: kinds.flatMap(({ value, label }) => (filter.kind.split(',').includes(value) ? label : [])).join(', '),
        },
      ]
    : []
  const topics = Object.keys(eventTopics).map((topic) => ({
    value: topic,
    label: words.topicNames[topic as keyof typeof eventTopics],
  }))
  return (
    <search class="filters" aria-label={words.filter}>
      <FilterField
        label={words.user}
        hint={words.userHint}
        value={filter.user}
        onInput={(user) => onChange({ user })}
        maxLength={254}
      />
      <FilterSelect
        label={words.kind}
        value={filter.kind}
        onChange={(kind) => onChange({ kind })}
        choices={[{ value: '', label: words.allKinds }, ...several]}
        groups={[
          { label: words.topics, choices: topics },
          { label: words.eachKind, choices: kinds },
        ]}
      />
      <FilterField
        label={words.ip}
        hint={words.ipHint}
        value={filter.ip}
        onInput={(ip) => onChange({ ip })}
        maxLength={64}
      />
      <FilterSelect
        label={words.since}
        value={filter.since}
        onChange={(since) => onChange({ since, until: '' })}
        choices={[
          ...(isDay(filter.since) ? [{ value: filter.since, label: daysText(filter) }] : []),
          ...Object.keys(spans).map((span) => ({ value: span, label: words.spans[span as keyof typeof spans] })),
        ]}
      />
    </search>
  )
}

const pollInterval = 5_000
/** An event may become visible some seconds after its `createdAt`, so each request asks from a minute before the newest event. */
const overlap = 60_000
const maxExported = 10_000

type Props = { filter: EventFilter; events: AdminEvent[] | undefined; onArrived: (events: AdminEvent[]) => void }

/** Follows new events, and saves the events that the filter finds. */
const EventTools = (props: Props) => {
  const words = useWords('admin').eventList
  const { isOn, setOn, arrivedCount } = useFollowing(props)
  const save = useExport(props.filter)
  return (
    <div class="tools">
      <label class="check">
        <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => setOn(currentTarget.checked)} />
        {words.follow}
      </label>
      <p class="panel-lead" role="status">
        {isOn && (arrivedCount === 0 ? words.following : fill(words.arrived, { count: `${arrivedCount}` }))}
      </p>
      <div class="button-row">
        <Button onPress={() => save('csv')}>{words.exportCsv}</Button>
        <Button onPress={() => save('jsonl')}>{words.exportJson}</Button>
      </div>
    </div>
  )
}

const useFollowing = ({ filter, events, onArrived }: Props) => {
  const [isOn, setOn] = useState(false)
  const [arrivedCount, setArrivedCount] = useState(0)
  const loadNewer = useStableCallback(async () => {
    if (document.visibilityState === 'hidden' || events === undefined) return
    const [newest] = events
    const from = newest && new Date(Date.parse(newest.createdAt) - overlap).toISOString()
    const answer = await askForEvents(filter, from === undefined ? {} : { from })
    // The next attempt comes soon. If the session has ended, the next button that the user presses shows it.
    if (answer.refused) return
    const knownIds = new Set(events.map(({ id }) => id))
    const newEvents = answer.value.items.filter(({ id }) => !knownIds.has(id))
    if (newEvents.length === 0) return
    onArrived(newEvents)
    setArrivedCount((count) => count + newEvents.length)
  })
  useEffect(() => {
    if (!isOn) return undefined
    setArrivedCount(0)
    const timer = setInterval(() => void loadNewer(), pollInterval)
    return () => clearInterval(timer)
  }, [isOn])
  return { isOn, setOn, arrivedCount }
}

const formats = {
  csv: { write: asCsv, type: 'text/csv' },
  jsonl: { write: asJsonLines, type: 'application/jsonl' },
}

/** Loads page after page, up to `maxExported` events, and saves them as a file. */
const useExport = (filter: EventFilter) => {
  const words = useWords('admin').eventList
  const { showSuccess, showError, leaveIfEnded } = useAdmin()
  const sentenceOf = useRefusalSentence()
  return async (format: keyof typeof formats) => {
    const events: AdminEvent[] = []
    let after: string | undefined
    do {
      const answer = await askForEvents(filter, after === undefined ? {} : { after })
      if (answer.refused) {
        if (!(await leaveIfEnded(answer))) showError(sentenceOf(answer))
        return
      }
      events.push(...answer.value.items)
      after = answer.value.next ?? undefined
    } while (after !== undefined && events.length < maxExported)
    const { write, type } = formats[format]
    saveFile(write(events), `events.${format}`, type)
    showSuccess(fill(after === undefined ? words.exported : words.exportCut, { count: `${events.length}` }))
  }
}

/** The topics of the filter, each with its kinds of events. */
const eventTopics: Record<keyof Words['admin']['eventList']['topicNames'], readonly EventKind[]> = {
  signIns: ['signed_in', 'signed_out', 'signed_out_everywhere', 'session_ended', 'registered', 'stepped_up'],
  failures: [
    'sign_in_failed',
    'second_factor_failed',
    'password_change_failed',
    'email_change_failed',
    'step_up_failed',
    'rate_limited',
    'refresh_theft',
    'device_proof_refused',
  ],
  changes: [
    'reset_requested',
    'password_reset',
    'password_changed',
    'email_change_asked',
    'email_changed',
    'email_change_undone',
    'factor_undone',
    'totp_added',
    'totp_replaced',
    'totp_removed',
    'recovery_code_used',
    'recovery_codes_renewed',
    'passkey_added',
    'passkey_removed',
    'token_made',
    'token_ended',
    'provider_linked',
    'provider_unlinked',
  ],
  administration: [
    'user_added',
    'user_invited',
    'invitation_revoked',
    'user_disabled',
    'user_enabled',
    'user_locked_down',
    'admin_session_began',
    'user_deleted',
    'sessions_ended',
    'factors_reset',
    'password_expired',
    'limits_cleared',
    'email_set',
    'account_recovered',
    'group_added',
    'group_deleted',
    'group_joined',
    'group_left',
    'application_added',
    'application_changed',
    'application_deleted',
    'resource_added',
    'resource_changed',
    'resource_deleted',
    'setting_changed',
    'configuration_owned',
    'configuration_released',
    'configuration_applied',
    'configuration_refused',
  ],
  applications: ['application_used', 'application_access_ended', 'application_token_reused', 'application_refused'],
  mails: mailEventKinds,
}

/** The parameter `kind` of the API for the chosen topic, or for one chosen kind. */
const kindsFor = (chosen: string) =>
  Object.hasOwn(eventTopics, chosen) ? eventTopics[chosen as keyof typeof eventTopics].join(',') : chosen

const hour = 3_600_000
const spans = {
  all: undefined,
  hour,
  day: 24 * hour,
  week: 7 * 24 * hour,
  month: 30 * 24 * hour,
} satisfies Record<keyof Words['admin']['eventList']['spans'], number | undefined>

/** The moment at which a span of time begins. */
const startOfSpan = (chosen: string, now: number) => {
  const length = Object.hasOwn(spans, chosen) ? spans[chosen as keyof typeof spans] : undefined
  return length === undefined ? undefined : new Date(now - length).toISOString()
}

/** The filter in the fragment of the URL: `kind` may be a topic or several kinds, `since` a span of time or a day. Days are those of UTC. */
type EventFilter = { user: string; kind: string; ip: string; since: string; until: string }

const noFilter: EventFilter = { user: '', kind: '', ip: '', since: 'all', until: '' }

const isDay = (text: string) => /^\d{4}-\d\d-\d\d$/.test(text)

const useDaysText = () => {
  const { locale } = useSettings()
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })
  return ({ since, until }: EventFilter) => format.formatRange(new Date(since), new Date(isDay(until) ? until : since))
}

const dayAfter = (day: string) => new Date(Date.parse(day) + 24 * hour).toISOString()

const askForEvents = async (
  { user, kind, ip, since, until }: EventFilter,
  paging: { after?: string; from?: string },
): Promise<Answer<{ items: AdminEvent[]; next: string | null }>> => {
  const begin = isDay(since) ? new Date(since).toISOString() : startOfSpan(since, Date.now())
  const sinceMoment = paging.from ?? begin
  const answer = await calls.events({
    user: user.trim(),
    kind: kindsFor(kind),
    ip: ip.trim(),
    ...(sinceMoment && { since: sinceMoment }),
    ...(isDay(since) && { until: dayAfter(isDay(until) ? until : since) }),
    ...(paging.after && { after: paging.after }),
  })
  return answer.refused ? answer : { value: { items: answer.value.events, next: answer.value.next } }
}
