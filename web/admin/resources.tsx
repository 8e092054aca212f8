import { useState } from 'preact/hooks'
import type { Static } from 'typebox'
import type { AdminNewResource, AdminResource, AdminResourcePatch } from '#contract/admin/admin-bodies.js'
import { Button, CopyButton } from '../components/button.js'
import { Field } from '../components/field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { Panel } from '../components/panel.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { Access, chosenAccess, NewAccess, WhoMayUse } from './access.js'
import { DeleteDialog } from './application-changes.js'
import { newThingId, useMayConfigure } from './applications.js'
import { calls } from './calls.js'
import { ChangeDialog, useChangeProblems } from './change-dialog.js'
import { addressIn, LinesField, linesIn } from './lines-field.js'
import { useMeanwhile } from './meanwhile.js'
import { fragmentOf, listFragment } from './place.js'
import { Loaded, Screen, useAdmin, useRead } from './screen.js'
import { type Column, Table } from './table.js'
import { type Fact, Facts } from './user-facts.js'

type Scopes = AdminResource['scopes']

/** A line for each: `read=Read pages`, as the command line and events have them. */
const linesOf = (scopes: Scopes) =>
  Object.entries(scopes).map(([name, words]) => (words === null ? name : `${name}=${words}`))

const scopesFrom = (typed: string | undefined): Scopes =>
  Object.fromEntries(
    linesIn(typed).map((line) => {
      const [name = '', ...words] = line.split('=')
      return [name.trim(), words.join('=').trim() || null]
    }),
  )

export const ResourcesScreen = () => {
  const words = useWords('admin')
  const { resource, off } = useWords('configuration')
  const { mayConfigure, isOff } = useMayConfigure()
  const read = useRead(calls.resources)
  const addLink = mayConfigure && (
    <a class="button primary" href={fragmentOf('resources', newThingId)}>
      {`${resource.add}…`}
    </a>
  )
  const columns: Column<AdminResource>[] = [
    {
      label: resource.one,
      cell: ({ id, name, address }) => (
        <div class="row-text">
          <strong>
            <a href={fragmentOf('resources', id)}>{name}</a>
          </strong>
          <span>{address}</span>
        </div>
      ),
    },
    {
      label: resource.scopes,
      cell: ({ scopes }) => Object.keys(scopes).join(', ') || <span class="muted">{words.none}</span>,
      onPhone: 'left-out',
    },
    { label: resource.allow, cell: (each) => <Access {...each} />, onPhone: 'second-line' },
  ]
  return (
    <Screen
      title={words.resources}
      lead={isOff ? `${resource.lead} ${off}` : resource.lead}
      beside={read.value && read.value.resources.length > 0 && addLink}
    >
      <section class="panel">
        <Loaded {...read}>
          {({ resources }) => (
            <Table
              caption={words.resources}
              columns={columns}
              rows={resources}
              keyOf={({ id }) => id}
              rowsAreLinks
              empty={
                <>
                  <p>{resource.empty}</p>
                  {addLink}
                </>
              }
            />
          )}
        </Loaded>
      </section>
    </Screen>
  )
}

const readResource = async (id: string) => {
  const answer = await calls.resources()
  if (answer.refused) return answer
  const value = answer.value.resources.find((resource) => resource.id === id)
  return value ? { value } : ({ refused: 'not_found', status: 404 } as const)
}

export const ResourceScreen = ({ id }: { id: string }) => {
  const words = useWords('admin')
  const { resource: resourceWords } = useWords('configuration')
  const { reload, ...read } = useRead(() => readResource(id))
  const { value } = read
  const { mayConfigure } = useMayConfigure()
  return (
    <Screen
      title={value?.name ?? resourceWords.one}
      above={<a href={listFragment('resources')}>{words.back}</a>}
      {...(value && { lead: value.address })}
    >
      <Loaded {...read} reload={reload}>
        {(resource) => (
          <div class="panels">
            <div>
              <WhoMayUse
                thing={resource}
                reload={reload}
                call={(patch) => calls.changeResource(resource.id, resource.version, patch)}
              />
              <Settings resource={resource} reload={reload} mayChange={mayConfigure && resource.setBy === null} />
            </div>
            <div>
              <ForItsServer {...resource} />
            </div>
          </div>
        )}
      </Loaded>
    </Screen>
  )
}

type Props = { resource: AdminResource; reload: () => Promise<void> }

const Settings = ({ resource, reload, mayChange }: Props & { mayChange: boolean }) => {
  const { app, none } = useWords('admin')
  const words = useWords('configuration')
  const [open, setOpen] = useState<'change' | 'delete'>()
  const { id, name, version } = resource
  const scopes = Object.entries(resource.scopes).map(([scope, text]) => (
    <p key={scope}>
      <code>{scope}</code>
      {text !== null && ` ${text}`}
    </p>
  ))
  // A field that the contract gets is a line here, or has a reason why not.
  const facts: Record<keyof AdminResource, Fact | `not here: ${string}`> = {
    id: 'not here: no program and no command needs it',
    name: 'not here: the title',
    address: [words.resource.address, resource.address],
    scopes: [words.resource.scopes, scopes.length === 0 ? <span class="muted">{none}</span> : scopes],
    allow: 'not here: in the panel before',
    algorithm: [words.resource.algorithm, resource.algorithm],
    version: 'not here: for the next change',
    setBy: 'not here: in the panel before',
    createdAt: 'not here: it answers no question of support',
    paste: 'not here: in a panel of its own',
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
        <ChangeResourceDialog resource={resource} reload={reload} onClose={() => setOpen(undefined)} />
      )}
      {open === 'delete' && (
        <DeleteDialog
          name={name}
          lead={words.resource.deleteLead}
          screen="resources"
          call={(typed) => calls.deleteResource(id, version, typed)}
          onClose={() => setOpen(undefined)}
        />
      )}
    </Panel>
  )
}

const ForItsServer = ({ paste }: AdminResource) => {
  const words = useWords('configuration')
  return (
    <Panel title={words.resource.forServer} lead={words.resource.forServerLead}>
      <ToPaste paste={paste} />
    </Panel>
  )
}

const ToPaste = ({ paste }: Pick<AdminResource, 'paste'>) => {
  const words = useWords('configuration')
  return (
    <div class="to-paste">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what is wider than the window is scrolled with the keys */}
      <pre lang="en" tabIndex={0}>
        {paste}
      </pre>
      <CopyButton text={paste} label={words.copy} copiedLabel={words.copied} />
    </div>
  )
}

/** What was typed, and differs. Null is the default. */
const changedValues = (typed: Values, resource: AdminResource): AdminResourcePatch => {
  const name = typed.name?.trim() ?? ''
  const scopes = scopesFrom(typed.scopes)
  const algorithm = typed.algorithm === 'on' ? 'RS256' : 'ES256'
  return {
    ...(name !== resource.name && { name }),
    ...(linesOf(scopes).join('\n') !== linesOf(resource.scopes).join('\n') && { scopes }),
    ...(algorithm !== resource.algorithm && { algorithm }),
  }
}

const ChangeResourceDialog = ({ resource, reload, onClose }: Props & { onClose: () => void }) => {
  const words = useWords('configuration')
  const { id, name } = resource
  const send = useMeanwhile(
    resource,
    ['name', 'scopes', 'allow', 'algorithm'],
    async () => (await readResource(id)).value,
  )
  return (
    <ChangeDialog
      title={fill(words.changeTitle, { name })}
      lead={words.resource.changeLead}
      userNotice={words.told}
      submitLabel={words.save}
      call={(typed) => send((present) => calls.changeResource(id, present.version, changedValues(typed, present)))}
      noticeOf={({ refused, message }) => (refused === 'changed_meanwhile' ? message : undefined)}
      successMessage={() => fill(words.saved, { name })}
      onDone={reload}
      onClose={onClose}
    >
      <NameField defaultValue={name} />
      <ValueFields resource={resource} />
    </ChangeDialog>
  )
}

const NameField = ({ defaultValue = '' }: { defaultValue?: string }) => {
  const words = useWords('configuration').resource
  return (
    <Field
      name="name"
      label={words.name}
      hint={words.nameHint}
      autoComplete="off"
      maxLength={60}
      defaultValue={defaultValue}
    />
  )
}

const ValueFields = ({ resource }: { resource?: AdminResource }) => {
  const words = useWords('configuration').resource
  return (
    <>
      <LinesField
        name="scopes"
        label={words.scopesLines}
        hint={words.scopesHint}
        defaultValue={linesOf(resource?.scopes ?? {})}
      />
      <label class="check">
        <input type="checkbox" name="algorithm" defaultChecked={resource?.algorithm === 'RS256'} />
        {words.rs256}
      </label>
    </>
  )
}

/** What is left to do. */
const Added = ({ id, name, paste }: AdminResource) => {
  const words = useWords('configuration')
  return (
    <Screen title={name} lead={fill(words.resource.added, { name })}>
      <Panel title={words.resource.forServer} lead={words.resource.forServerLead}>
        <ToPaste paste={paste} />
        <div class="button-row">
          <a class="button primary" href={fragmentOf('resources', id)}>
            {words.toApplication}
          </a>
        </div>
      </Panel>
    </Screen>
  )
}

/** Adds a resource in one form. */
export const NewResourceScreen = () => {
  const { back } = useWords('admin')
  const words = useWords('configuration')
  const { withFreshSignIn, leaveIfEnded } = useAdmin()
  const problemsOf = useChangeProblems()
  const [added, setAdded] = useState<AdminResource>()
  const add = async (typed: Values): Promise<Problems | undefined> => {
    const name = typed.name?.trim() ?? ''
    const allow = chosenAccess(typed)
    if (!allow) return { notice: words.chooseGroup }
    const body: Static<typeof AdminNewResource> = {
      name,
      address: addressIn(typed.address),
      allow,
      scopes: scopesFrom(typed.scopes),
      algorithm: typed.algorithm === 'on' ? 'RS256' : 'ES256',
    }
    const answer = await withFreshSignIn(() => calls.addResource(body))
    if (answer.refused === 'fresh_sign_in_required') return {}
    if (answer.refused) return (await leaveIfEnded(answer)) ? undefined : problemsOf(answer)
    setAdded(answer.value)
    return undefined
  }
  if (added) return <Added {...added} />
  return (
    <Screen title={words.resource.add} lead={words.told} above={<a href={listFragment('resources')}>{back}</a>}>
      <section class="panel narrow">
        <Form submitLabel={words.create} onSubmit={add}>
          <Field
            name="address"
            label={words.resource.address}
            hint={words.resource.addressHint}
            autoComplete="off"
            maxLength={500}
            focused
          />
          <NameField />
          <ValueFields />
          <NewAccess legend={words.resource.allow} />
        </Form>
      </section>
    </Screen>
  )
}
