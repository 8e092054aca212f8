import { useState } from 'preact/hooks'
import type { AdminApplication } from '#contract/admin/admin-bodies.js'
import { Button } from '../components/button.js'
import { Panel } from '../components/panel.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'
import { Access, WhoMayUse } from './access.js'
import { type ApplicationProps, ChangeValuesDialog, DeleteDialog, Secrets } from './application-changes.js'
import { calls } from './calls.js'
import { iconAddress } from './icon-field.js'
import { fragmentOf, listFragment } from './place.js'
import { useProblemSentence } from './problems.js'
import { Programs } from './programs.js'
import { Loaded, Screen, useAdmin, useRead } from './screen.js'
import { type Column, Table } from './table.js'
import { proxyNames, ToPaste } from './to-paste.js'
import { type Fact, Facts } from './user-facts.js'

/** In the place of an id: the screen that adds one. No id has capitals. */
export const newThingId = 'NEW'

/** Whether this administrator can change what the command line can, and not only who may use an application. */
export const useMayConfigure = () => {
  const { mayManage } = useAdmin()
  const { value } = useRead(calls.settings)
  return {
    mayConfigure: mayManage && value?.applicationsCanChange === true,
    isOff: value?.applicationsCanChange === false,
  }
}

export const ApplicationsScreen = () => {
  const words = useWords('admin')
  const { add, off } = useWords('configuration')
  const { mayConfigure, isOff } = useMayConfigure()
  const read = useRead(calls.applications)
  const columns = useColumns()
  const addLink = mayConfigure && (
    <a class="button primary" href={fragmentOf('applications', newThingId)}>
      {`${add}…`}
    </a>
  )
  return (
    <Screen
      title={words.applications}
      lead={isOff ? `${words.app.lead} ${off}` : words.app.lead}
      beside={read.value && read.value.applications.length > 0 && addLink}
    >
      <Loaded {...read}>
        {({ applications, programs }) => (
          <div class="stack">
            <section class="panel">
              <Table
                caption={words.applications}
                columns={columns}
                rows={applications}
                keyOf={({ id }) => id}
                rowsAreLinks
                empty={
                  <>
                    <p>{words.app.empty}</p>
                    {addLink}
                  </>
                }
              />
            </section>
            {programs.length > 0 && <Programs programs={programs} reload={read.reload} />}
          </div>
        )}
      </Loaded>
    </Screen>
  )
}

const useColumns = (): Column<AdminApplication>[] => {
  const { columns, app } = useWords('admin')
  const sentenceOf = useProblemSentence()
  return [
    {
      label: columns.application,
      cell: ({ id, name, home }) => (
        <div class="row-text">
          <strong>
            <a href={fragmentOf('applications', id)}>{name}</a>
          </strong>
          <span>{home}</span>
        </div>
      ),
    },
    { label: columns.kind, cell: ({ kind }) => app.kinds[kind ?? 'web'], onPhone: 'beside-name' },
    { label: columns.access, cell: (application) => <Access {...application} />, onPhone: 'second-line' },
    {
      label: columns.lastError,
      cell: ({ errors: [newest] }) =>
        newest ? <span>{sentenceOf(newest)}</span> : <span class="muted">{app.noErrors}</span>,
      onPhone: 'left-out',
    },
  ]
}

export const ApplicationScreen = ({ id }: { id: string }) => {
  const words = useWords('admin')
  const { openIt } = useWords('configuration')
  const { reload, ...read } = useRead(() => readApplication(id))
  const { value } = read
  const { mayConfigure } = useMayConfigure()
  const mayChange = ({ setBy }: AdminApplication) => mayConfigure && setBy === null
  return (
    <Screen
      title={value?.name ?? words.columns.application}
      beside={
        value?.home && (
          <a class="button" href={value.home} target="_blank" rel="noreferrer">
            {fill(openIt, { name: value.name })}
          </a>
        )
      }
      above={<a href={listFragment('applications')}>{words.back}</a>}
      {...(value && { lead: words.app.kinds[value.kind ?? 'web'] })}
    >
      <Loaded {...read} reload={reload}>
        {(application) => (
          <div class="panels">
            <div>
              <WhoMayUse
                thing={application}
                reload={reload}
                call={(patch) => calls.changeApplication(application.id, application.version, patch)}
              />
              <Errors application={application} />
              {(application.proxy !== null || (application.redirect ?? []).length > 0) && (
                <Lines application={application} />
              )}
              {application.kind === 'web' && (
                <Secrets
                  application={application}
                  reload={reload}
                  mayChange={mayConfigure && !application.secretsByFile}
                />
              )}
            </div>
            <div>
              <Settings application={application} reload={reload} mayChange={mayChange(application)} />
            </div>
          </div>
        )}
      </Loaded>
    </Screen>
  )
}

const readApplication = async (id: string) => {
  const answer = await calls.applications()
  if (answer.refused) return answer
  const value = answer.value.applications.find((application) => application.id === id)
  return value ? { value } : ({ refused: 'not_found', status: 404 } as const)
}

type Props = { application: AdminApplication }

const Errors = ({ application: { errors, normalEnds } }: Props) => {
  const { app } = useWords('admin')
  return (
    <Panel title={app.errors} lead={app.errorsLead}>
      {errors.length === 0 ? <p>{app.noErrors}</p> : <ProblemList problems={errors} />}
      {normalEnds.length > 0 && (
        <details>
          <summary>{app.normalEnds}</summary>
          <ProblemList problems={normalEnds} />
        </details>
      )}
    </Panel>
  )
}

/** They were shown when the application was added, and are needed again when a proxy or a machine is replaced. */
const Lines = ({ application: { id } }: Props) => {
  const { lines, linesLead, programLines } = useWords('configuration')
  const read = useRead(() => calls.linesOfApplication(id))
  return (
    <Panel title={lines} lead={linesLead}>
      <Loaded {...read}>
        {(value) =>
          value.lines.map(({ for: place, text }) => (
            <details key={place}>
              <summary>{place === 'program' ? programLines : proxyNames[place]}</summary>
              <ToPaste text={text} />
            </details>
          ))
        }
      </Loaded>
    </Panel>
  )
}

const Icon = ({ application }: Props) => {
  const { none } = useWords('admin')
  const { icon } = useWords('configuration')
  const src = iconAddress(application)
  if (src === undefined) return <span class="muted">{none}</span>
  return <img class="shown-icon" src={src} alt={icon.alt} width="40" height="40" />
}

const ProblemList = ({ problems }: { problems: AdminApplication['errors'] }) => {
  const { app } = useWords('admin')
  const { locale } = useSettings()
  const sentenceOf = useProblemSentence()
  return (
    <ul class="row-list">
      {problems.map(({ kind, message, count, seenAt }) => (
        <li key={`${kind} ${message}`}>
          <div class="row-text">
            <strong>{sentenceOf({ kind, message })}</strong>
            <span>{fill(app.seen, { when: timeAgo(seenAt, locale), count: `${count}` })}</span>
          </div>
        </li>
      ))}
    </ul>
  )
}

const Settings = ({ application, reload, mayChange }: ApplicationProps & { mayChange: boolean }) => {
  const { app, none, yes, no } = useWords('admin')
  const words = useWords('configuration')
  const [open, setOpen] = useState<'change' | 'delete'>()
  const muted = <span class="muted">{none}</span>
  const lines = (texts: readonly string[] | null) =>
    texts === null || texts.length === 0 ? muted : texts.map((text) => <p key={text}>{text}</p>)
  // A field that the contract gets is a line here, or has a reason why not.
  const facts: Record<keyof AdminApplication, Fact | `not here: ${string}`> = {
    id: [app.id, <code key="id">{application.id}</code>],
    name: 'not here: the title',
    kind: 'not here: below the title',
    allow: 'not here: in the panel before',
    version: 'not here: for the next change',
    setBy: 'not here: in the panel before',
    secretsByFile: 'not here: then the secrets have no buttons',
    iconVersion: [words.icon.label, <Icon key="icon" application={application} />],
    home: [app.home, application.home],
    redirect: [app.redirects, lines(application.redirect)],
    afterLogout: [app.afterLogout, lines(application.afterLogout)],
    backchannelLogout: [app.backchannel, application.backchannelLogout ?? muted],
    factors: [app.factors, application.factors],
    maxAge: [app.maxAge, application.maxAge ?? app.noMaxAge],
    consent: [app.consent, application.consent === 'ask' ? yes : no],
    noPkce: [app.pkce, application.noPkce ? no : yes],
    algorithm: [app.algorithm, application.algorithm],
    device:
      application.kind === 'native'
        ? [app.deviceFlow, application.device ? yes : no]
        : 'not here: others than native ones cannot have it',
    proxy: [app.proxy, application.proxy ?? muted],
    open: [app.openPaths, lines([...(application.open ?? []), ...(application.openPreflight ? [app.preflights] : [])])],
    openPreflight: 'not here: in the line before',
    noTokens:
      application.proxy === null ? 'not here: for those behind a proxy' : [app.tokens, application.noTokens ? no : yes],
    secrets: 'not here: in a panel of their own',
    createdAt: 'not here: it answers no question of support',
    errors: 'not here: in a panel of their own',
    normalEnds: 'not here: in a panel of their own',
  }
  return (
    <Panel title={app.settings}>
      <Facts facts={Object.values(facts).filter((fact) => typeof fact !== 'string')} />
      {mayChange && (
        <div class="button-row">
          <Button onPress={() => setOpen('change')}>{`${words.change}…`}</Button>
          <Button look="danger" onPress={() => setOpen('delete')}>{`${words.deleteIt}…`}</Button>
        </div>
      )}
      {open === 'change' && (
        <ChangeValuesDialog application={application} reload={reload} onClose={() => setOpen(undefined)} />
      )}
      {open === 'delete' && (
        <DeleteDialog
          name={application.name}
          lead={words.deleteLead}
          screen="applications"
          call={(typed) => calls.deleteApplication(application.id, application.version, typed)}
          onClose={() => setOpen(undefined)}
        />
      )}
    </Panel>
  )
}
