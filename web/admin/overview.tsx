import { useEffect, useRef, useState } from 'preact/hooks'
import type { AdminOverview, AttentionCode } from '#contract/admin/admin-bodies.js'
import type { EventKind } from '#contract/events.js'
import type { Session } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { AlertIcon, CheckIcon } from '../components/icons.js'
import { NextSteps, Panel } from '../components/panel.js'
import { SessionFacts } from '../components/session-facts.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { dateWithZone } from '../words/dates.js'
import { fill } from '../words/format.js'
import { newThingId, useMayConfigure } from './applications.js'
import { calls } from './calls.js'
import { fragmentOf, type Place, replaceQuery } from './place.js'
import { axisFor } from './plot-scale.js'
import { Loaded, Screen, useRead } from './screen.js'
import { FilterSelect, Table, useNumberFormat } from './table.js'

/** Right after the setup, the next steps come first. */
export const OverviewScreen = ({ query }: Place) => {
  const words = useWords('admin')
  const [range, setRange] = useState<Range>({ ...usualRange, ...query })
  const key = JSON.stringify(daysOf(range) ?? usualRange)
  const read = useRead(() => calls.overview(daysOf(range)), key)
  const choose = (chosen: Range) => {
    setRange(chosen)
    replaceQuery('overview', { ...query, ...chosen, ...(chosen.range === usualRange.range && { range: '' }) })
  }
  return (
    <Screen title={words.overview}>
      <Loaded {...read}>
        {({ attention, days, before }) => (
          <div class="stack">
            {query.setup === 'done' && <FirstSteps />}
            <Panel title={words.attention.heading}>
              <Attention attention={attention} />
            </Panel>
            <Panel title={words.plot.heading}>
              <RangeChoice range={range} days={days} onChange={choose} />
              <Plot days={days} before={before} />
            </Panel>
            {/* It comes with an answer of its own, so nothing stands below it that would jump. */}
            <UnboundSessions />
          </div>
        )}
      </Loaded>
    </Screen>
  )
}

const FirstSteps = () => {
  const { isOff } = useMayConfigure()
  const newApplication = isOff ? undefined : fragmentOf('applications', newThingId)
  return <NextSteps newApplication={newApplication} invitations={fragmentOf('invitations')} />
}

/** A number of days up to today, or `own` with the first and the last day, in UTC. */
type Range = { range: string; from: string; to: string }
const usualRange: Range = { range: '30', from: '', to: '' }
const lengths = ['7', '30', '90']
const dayLength = 24 * 3_600_000
const dayName = (moment: number) => new Date(moment).toISOString().slice(0, 10)
const oldestDay = () => dayName(Date.now() - 89 * dayLength)
const isDay = (text: string) => /^\d{4}-\d\d-\d\d$/.test(text)

/** Undefined for the days that the service chooses by itself, and as long as an own range is not chosen to its end. */
const daysOf = ({ range, from, to }: Range) => {
  if (range === 'own') {
    const isPossible = isDay(from) && isDay(to) && oldestDay() <= from && from <= to && to <= dayName(Date.now())
    return isPossible ? { from, to } : undefined
  }
  if (range === usualRange.range || !lengths.includes(range)) return undefined
  return { from: dayName(Date.now() - (Number(range) - 1) * dayLength), to: dayName(Date.now()) }
}

const RangeChoice = ({ range, days, onChange }: { range: Range; days: Day[]; onChange: (range: Range) => void }) => {
  const words = useWords('admin').plot
  const own = { from: days[0]?.day ?? '', to: days.at(-1)?.day ?? '' }
  const dayField = (name: 'from' | 'to') => (
    <div class="filter-field">
      <label for={`range-${name}`}>{words[name]}</label>
      <input
        id={`range-${name}`}
        type="date"
        min={oldestDay()}
        max={dayName(Date.now())}
        value={range[name]}
        onChange={({ currentTarget }) => onChange({ ...range, [name]: currentTarget.value })}
      />
    </div>
  )
  return (
    <div class="range">
      <FilterSelect
        label={words.range}
        value={range.range}
        onChange={(chosen) => onChange({ ...usualRange, range: chosen, ...(chosen === 'own' && own) })}
        choices={[
          ...lengths.map((length) => ({ value: length, label: fill(words.days, { count: length }) })),
          { value: 'own', label: words.own },
        ]}
      />
      {range.range === 'own' && dayField('from')}
      {range.range === 'own' && dayField('to')}
    </div>
  )
}

/** The sessions of the administrator who looks at the page, which a copy of their cookies can renew. */
const UnboundSessions = () => {
  const { unbound: words } = useWords('admin')
  const { boundSessions } = useSettings()
  const [sessions, setSessions] = useState<readonly Session[]>([])
  useEffect(() => {
    if (boundSessions) void client.sessions().then((answer) => setSessions(answer.value?.sessions ?? []))
  }, [boundSessions])
  const unbound = sessions.filter(({ bound, application }) => !bound && application === null)
  if (unbound.length === 0) return null
  return (
    <Panel title={words.heading} lead={words.lead}>
      <ul class="row-list">
        {unbound.map((session) => (
          <li key={session.id}>
            <SessionFacts session={session} isCurrent={session.current} dateOf={dateWithZone} />
          </li>
        ))}
      </ul>
      <p>
        <a href="/dashboard#sessions">{words.link}</a>
      </p>
    </Panel>
  )
}

/** The filter that shows the events about each code. */
const eventsAbout: Partial<Record<AttentionCode, { kind: EventKind; since: string }>> = {
  mails_refused: { kind: 'mail_refused', since: 'day' },
  mails_given_up: { kind: 'mail_given_up', since: 'week' },
  ceiling_reached: { kind: 'ceiling_reached', since: 'day' },
}

const Attention = ({ attention }: Pick<AdminOverview, 'attention'>) => {
  const words = useWords('admin')
  const { locale } = useSettings()
  if (attention.length === 0) {
    return (
      <p class="finding fine">
        <CheckIcon />
        <span>{words.attention.fine}</span>
      </p>
    )
  }
  return (
    <ul class="findings">
      {attention.map(({ code, count, since, detail }) => {
        const filter = eventsAbout[code]
        return (
          <li key={code} class="finding">
            <AlertIcon />
            <div class="row-text">
              <strong>{fill(words.attention.sentences[code], { count: `${count ?? 1}` })}</strong>
              {code === 'mails_failing' && (
                <span>
                  {detail === null ? words.attention.noAnswer : fill(words.attention.answer, { answer: detail })}
                </span>
              )}
              {since !== null && <span>{fill(words.attention.since, { date: dateWithZone(since, locale) })}</span>}
            </div>
            {filter && <a href={fragmentOf('events', undefined, filter)}>{words.attention.show}</a>}
          </li>
        )
      })}
    </ul>
  )
}

type Day = AdminOverview['days'][number]

/** The lines, in the order in which they are drawn: the last one lies above the others. */
const series = ['signIns', 'failures', 'newUsers'] as const
type Series = (typeof series)[number]

const height = 220
const margin = { top: 12, right: 12, bottom: 26, left: 44 }

/** What the events of each number are. New users are found in the list of users, the newest first. */
const kindsOf: Record<Exclude<Series, 'newUsers'>, readonly EventKind[]> = {
  signIns: ['signed_in', 'registered'],
  failures: ['sign_in_failed', 'second_factor_failed'],
}

const leadOf = (name: Series, first: string, last: string) =>
  name === 'newUsers'
    ? fragmentOf('users', undefined, { order: '-created' })
    : fragmentOf('events', undefined, { kind: kindsOf[name].join(','), since: first, until: last })

/** Sign-ins, failures and new users of each day, as lines; the numbers are in a table below. Each number leads to what it counts. */
const Plot = ({ days, before }: Pick<AdminOverview, 'days' | 'before'>) => {
  const words = useWords('admin')
  const [pointedIndex, setPointedIndex] = useState<number>()
  const formatDate = useDateFormat()
  const formatNumber = useNumberFormat()
  const day = pointedIndex === undefined ? undefined : days[pointedIndex]
  const [first, last] = [days[0]?.day ?? '', days.at(-1)?.day ?? '']
  return (
    <figure class="plot">
      <figcaption>
        {series.map((name) => (
          <a key={name} class={`plot-number ${name}`} href={leadOf(name, first, last)}>
            <span class="plot-legend">
              <svg width="1.5rem" height="0.5rem" viewBox="0 0 24 8" aria-hidden="true">
                <path d="M1 4h22" />
              </svg>
              {words.plot[name]}
            </span>
            <strong>{formatNumber(sumOf(days, name))}</strong>
            <Change now={sumOf(days, name)} before={before?.[name]} length={days.length} />
          </a>
        ))}
      </figcaption>
      <p class="plot-when" aria-hidden="true">
        {day
          ? `${formatDate(day.day, 'long')}: ${series.map((name) => `${words.plot[name]} ${formatNumber(day[name])}`).join(' · ')}`
          : words.plot.hint}
      </p>
      <Lines days={days} pointedIndex={pointedIndex} onPoint={setPointedIndex} />
      <details>
        <summary>{words.plot.table}</summary>
        <DayTable days={days} />
      </details>
    </figure>
  )
}

/** The change against as many days before. Of nothing before there is no share. */
const Change = ({ now, before, length }: { now: number; before: number | undefined; length: number }) => {
  const words = useWords('admin').plot
  const { locale } = useSettings()
  if (before === undefined) return <span class="plot-change">{words.noneBefore}</span>
  const share = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0, signDisplay: 'exceptZero' })
  const change =
    before === 0
      ? now === 0
        ? share.format(0)
        : `+${new Intl.NumberFormat(locale).format(now)}`
      : share.format((now - before) / before)
  return <span class="plot-change">{fill(words.change, { change, count: `${length}` })}</span>
}

const sumOf = (days: Day[], name: Series) => days.reduce((sum, day) => sum + day[name], 0)

/** Days of the service are those of UTC, wherever the administrator is. */
const useDateFormat = () => {
  const { locale } = useSettings()
  const styles = { long: { dateStyle: 'long' }, short: { day: 'numeric', month: 'short' } } as const
  return (day: string, style: keyof typeof styles) =>
    new Intl.DateTimeFormat(locale, { ...styles[style], timeZone: 'UTC' }).format(new Date(`${day}T00:00:00Z`))
}

/** The plot is drawn as wide as its container and is not scaled, so its letters keep their size. */
const useWidth = () => {
  const container = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(640)
  useEffect(() => {
    if (!container.current) return undefined
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.max(200, entry.contentRect.width)))
    observer.observe(container.current)
    return () => observer.disconnect()
  }, [])
  return { container, width }
}

type LinesProps = { days: Day[]; pointedIndex: number | undefined; onPoint: (index: number | undefined) => void }

/** The lines are hidden from screen readers, which read the table below. */
const Lines = ({ days, pointedIndex, onPoint }: LinesProps) => {
  const { container, width } = useWidth()
  const axis = axisFor(Math.max(0, ...days.flatMap((day) => series.map((name) => day[name]))))
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom }
  const x = (index: number) => margin.left + (inner.width * index) / Math.max(1, days.length - 1)
  const y = (value: number) => margin.top + inner.height * (1 - value / axis.end)
  const pointAt = ({ offsetX }: PointerEvent) => {
    const nearest = Math.round(((offsetX - margin.left) / inner.width) * (days.length - 1))
    onPoint(Math.min(days.length - 1, Math.max(0, nearest)))
  }
  /** With the keyboard, the numbers of the table lead there. */
  const openDay = () => {
    const day = days[pointedIndex ?? -1]?.day
    const kinds = Object.values(kindsOf).flat().join(',')
    if (day) location.hash = fragmentOf('events', undefined, { kind: kinds, since: day, until: day })
  }
  const pathOf = (name: Series) => days.map((day, index) => `${index ? 'L' : 'M'}${x(index)} ${y(day[name])}`).join('')
  return (
    <div ref={container} class="plot-lines">
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        aria-hidden="true"
        onPointerMove={pointAt}
        onPointerLeave={() => onPoint(undefined)}
        onClick={openDay}
      >
        <Axes days={days} ticks={axis.ticks} width={width} x={x} y={y} />
        <path class="plot-area" d={`${pathOf('signIns')}L${x(days.length - 1)} ${y(0)}L${x(0)} ${y(0)}Z`} />
        {pointedIndex !== undefined && <path class="plot-pointer" d={`M${x(pointedIndex)} ${margin.top}V${y(0)}`} />}
        {series.map((name) => (
          <path key={name} class={`plot-line ${name}`} d={pathOf(name)} />
        ))}
        {pointedIndex !== undefined &&
          series.map((name) => (
            <circle
              key={name}
              class={`plot-dot ${name}`}
              cx={x(pointedIndex)}
              cy={y(days[pointedIndex]?.[name] ?? 0)}
              r="4"
            />
          ))}
      </svg>
    </div>
  )
}

type AxesProps = {
  days: Day[]
  ticks: number[]
  width: number
  x: (index: number) => number
  y: (value: number) => number
}

const Axes = ({ days, ticks, width, x, y }: AxesProps) => {
  const formatDate = useDateFormat()
  const formatNumber = useNumberFormat()
  // A label for each week, counted from today, or for every second one if they have no room.
  const weekly = days.flatMap(({ day }, index) =>
    (days.length - 1 - index) % 7 === 0 ? { day, text: formatDate(day, 'short'), x: x(index) } : [],
  )
  const step = weeksBetween(weekly)
  const labels = weekly.filter((_, index) => (weekly.length - 1 - index) % step === 0)
  return (
    <>
      {ticks.map((tick) => (
        <g key={tick}>
          <path class="plot-grid" d={`M${margin.left} ${y(tick)}H${width - margin.right}`} />
          <text x={margin.left - 8} y={y(tick)} dy="0.32em" text-anchor="end">
            {formatNumber(tick)}
          </text>
        </g>
      ))}
      {labels.map(({ day, text, x: at }, index) => (
        <text
          key={day}
          x={at}
          y={height - 6}
          text-anchor={index === labels.length - 1 ? 'end' : 'middle'}
          dx={index === labels.length - 1 ? margin.right : 0}
        >
          {text}
        </text>
      ))}
    </>
  )
}

/** The last label ends at the edge, so between it and the one before it there must be room for one and a half. */
const weeksBetween = (labels: readonly { text: string; x: number }[]) => {
  const [first, second] = labels
  if (!first || !second) return 1
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
  // A letter is about half as wide as high, and the labels have 0.75rem.
  const longest = Math.max(...labels.map(({ text }) => text.length)) * 0.55 * 0.75 * rem
  return Math.max(1, Math.ceil((1.5 * longest + 8 - margin.right) / (second.x - first.x)))
}

const DayTable = ({ days }: { days: Day[] }) => {
  const words = useWords('admin')
  const formatDate = useDateFormat()
  const formatNumber = useNumberFormat()
  return (
    <>
      <Table
        caption={words.plot.heading}
        columns={[
          { label: words.columns.day, cell: ({ day }: Day) => formatDate(day, 'long') },
          ...series.map((name) => ({
            label: words.plot[name],
            cell: (day: Day) => <a href={leadOf(name, day.day, day.day)}>{formatNumber(day[name])}</a>,
            align: 'end' as const,
          })),
        ]}
        rows={[...days].reverse()}
        keyOf={({ day }) => day}
        empty={words.none}
      />
      <p class="panel-lead">{words.plot.utc}</p>
    </>
  )
}
