import { useEffect, useState } from 'preact/hooks'
import type { AdminEvent } from '#contract/admin/admin-bodies.js'
import { eventKinds } from '#contract/events.js'
import { useWords } from '../hooks/settings.js'
import { useDebounced } from '../hooks/stable.js'
import { askForEvents, type EventFilter, eventTopics, spans } from './event-filter.js'
import { EventTable, useAdminEventTitle } from './event-table.js'
import { EventTools } from './event-tools.js'
import { FilterField } from './filter-field.js'
import { FilterSelect } from './filter-select.js'
import { type Place, replaceQuery } from './place.js'
import { Loaded, Screen } from './screen.js'
import { usePages } from './use-read.js'

export const EventsScreen = ({ query }: Pick<Place, 'query'>) => {
  const words = useWords('admin')
  const { user = '', kind = '', ip = '', since = 'all' } = query
  const [typed, setTyped] = useState<EventFilter>({ user, kind, ip, since })
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
              empty={words.eventList.empty}
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
  const kinds = eventKinds
    .map((kind) => ({ value: kind as string, label: titleOf({ kind, reason: '…' }) }))
    .sort((left, right) => left.label.localeCompare(right.label))
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
        choices={[{ value: '', label: words.allKinds }]}
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
        onChange={(since) => onChange({ since })}
        choices={Object.keys(spans).map((span) => ({ value: span, label: words.spans[span as keyof typeof spans] }))}
      />
    </search>
  )
}
