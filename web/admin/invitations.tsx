import { useState } from 'preact/hooks'
import type { AdminInvitation } from '#contract/admin/admin-bodies.js'
import { isLanguage, languages, ownNameOf } from '#contract/languages.js'
import { acceptedReturnTo } from '../browser/navigation.js'
import { Button } from '../components/button.js'
import { Field, SelectField } from '../components/field.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { ChangeDialog } from './change-dialog.js'
import { chosenGroups, GroupChoices } from './groups.js'
import { Loaded, Screen, useAdmin, useRead } from './screen.js'
import { Ago, At, type Column, GroupNames, Table } from './table.js'

export const InvitationsScreen = () => {
  const words = useWords('admin')
  const { mayManage } = useAdmin()
  const { mailIsOff } = useSettings()
  const read = useRead(calls.invitations)
  const [openDialog, setOpenDialog] = useState<OpenDialog | 'new'>()
  const close = () => setOpenDialog(undefined)
  const columns = useColumns(setOpenDialog)
  const inviteButton = mayManage && !mailIsOff && (
    <Button look="primary" onPress={() => setOpenDialog('new')}>{`${words.invite.action}…`}</Button>
  )
  return (
    <Screen
      title={words.invitations}
      lead={mailIsOff ? words.invite.mailIsOff : words.invite.lead}
      beside={read.value && read.value.invitations.length > 0 && inviteButton}
    >
      <section class="panel">
        <Loaded {...read}>
          {({ invitations }) => (
            <Table
              caption={words.invitations}
              columns={columns}
              rows={invitations}
              keyOf={({ email, madeBy }) => `${email} ${madeBy}`}
              empty={
                <>
                  <p>{words.invite.empty}</p>
                  {inviteButton}
                </>
              }
            />
          )}
        </Loaded>
      </section>
      {openDialog === 'new' && <InviteDialog onDone={read.reload} onClose={close} />}
      {openDialog !== undefined && openDialog !== 'new' && openDialog.change === 'withdraw' && (
        <WithdrawDialog {...openDialog} onDone={read.reload} onClose={close} />
      )}
      {openDialog !== undefined && openDialog !== 'new' && openDialog.change === 'again' && (
        <SendAgainDialog email={openDialog.email} onDone={read.reload} onClose={close} />
      )}
    </Screen>
  )
}

type OpenDialog = { change: 'again' | 'withdraw' } & Pick<AdminInvitation, 'email' | 'madeBy'>

/** The address, who has invited it, by which name, and the page to go to. */
const Invited = ({ email, madeBy, invitedBy, returnTo }: AdminInvitation) => {
  const { invite, eventList } = useWords('admin')
  const [, key] = /^service key (.+)$/.exec(madeBy) ?? []
  const person = madeBy === 'administrator' ? invite.byAdministrator : eventList.commandLine
  const maker = key === undefined ? person : fill(eventList.serviceKey, { name: key })
  return (
    <div class="row-text">
      <strong>{email}</strong>
      <span>
        {fill(invite.by, { maker })}
        {invitedBy !== null && (
          <>
            {' · '}
            <bdi>{invitedBy}</bdi>
          </>
        )}
      </span>
      {returnTo !== null && <span>{returnTo}</span>}
    </div>
  )
}

const useColumns = (openDialogFor: (dialog: OpenDialog) => void): Column<AdminInvitation>[] => {
  const { columns, invite } = useWords('admin')
  const { mayManage } = useAdmin()
  const { mailIsOff } = useSettings()
  const changes: Column<AdminInvitation> = {
    label: columns.change,
    align: 'end',
    cell: ({ email, madeBy }) => (
      <>
        {/* To send it again belongs to its maker. Another invitation of an administrator stands beside it. */}
        {madeBy === 'administrator' && !mailIsOff && (
          <Button
            label={fill(invite.againOf, { email })}
            onPress={() => openDialogFor({ change: 'again', email, madeBy })}
          >
            {`${invite.again}…`}
          </Button>
        )}{' '}
        <Button
          label={fill(invite.withdrawOf, { email })}
          onPress={() => openDialogFor({ change: 'withdraw', email, madeBy })}
        >
          {`${invite.withdraw}…`}
        </Button>
      </>
    ),
  }
  return [
    { label: columns.email, cell: (invitation) => <Invited {...invitation} /> },
    { label: columns.groups, cell: (invitation) => <GroupNames {...invitation} /> },
    { label: columns.invited, cell: ({ createdAt }) => <Ago moment={createdAt} /> },
    { label: columns.expires, cell: ({ expiresAt }) => <At moment={expiresAt} /> },
    ...(mayManage ? [changes] : []),
  ]
}

type DialogProps = { onDone: () => Promise<void>; onClose: () => void }

const WithdrawDialog = ({ email, madeBy, onDone, onClose }: DialogProps & Omit<OpenDialog, 'change'>) => {
  const { invite, notTold } = useWords('admin')
  return (
    <ChangeDialog
      onDone={onDone}
      onClose={onClose}
      title={fill(invite.withdrawTitle, { email })}
      lead={invite.withdrawLead}
      userNotice={notTold}
      submitLabel={invite.withdraw}
      call={() => calls.withdrawInvitation({ email, madeBy })}
      successMessage={() => fill(invite.withdrawn, { email })}
    />
  )
}

const InviteDialog = (dialog: DialogProps) => {
  const { invite } = useWords('admin')
  const { email } = useWords('common')
  const { value } = useRead(calls.groups)
  // An invitation cannot make a user an administrator, so groups with a role are left out.
  const names = (value?.groups ?? []).filter(({ role }) => role === null).map(({ name }) => name)
  return (
    <ChangeDialog
      {...dialog}
      title={invite.title}
      lead={invite.dialogLead}
      userNotice={invite.told}
      submitLabel={invite.submit}
      check={async ({ returnTo: typed = '' }, invalid) => {
        const returnTo = typed.trim()
        const isAccepted = returnTo === '' || acceptedReturnTo(returnTo) !== undefined
        return isAccepted ? invalid : { ...invalid, returnTo: [invite.returnToHint] }
      }}
      call={(values) => {
        const { email: to = '', language: chosen = '', returnTo = '' } = values
        const groups = chosenGroups(values)
        // If no group is chosen, the groups of an earlier invitation stay.
        return calls.invite({
          email: to.trim(),
          ...(groups.length > 0 && { groups }),
          ...(isLanguage(chosen) && { language: chosen }),
          ...(returnTo.trim() !== '' && { returnTo: returnTo.trim() }),
        })
      }}
      successMessage={({ email: to = '' }) => fill(invite.done, { email: to.trim() })}
    >
      <Field name="email" label={email} type="email" autoComplete="off" maxLength={254} focused />
      {names.length > 0 && <GroupChoices label={invite.groups} names={names} />}
      <Field
        name="returnTo"
        label={invite.returnTo}
        hint={invite.returnToHint}
        autoComplete="off"
        required={false}
        maxLength={512}
      />
      <LanguageField />
    </ChangeDialog>
  )
}

const LanguageField = () => {
  const { invite } = useWords('admin')
  const { language } = useSettings()
  return (
    <SelectField
      name="language"
      label={invite.language}
      hint={invite.languageHint}
      choices={languages.map((code) => ({ value: code, label: ownNameOf(code), lang: code }))}
      defaultValue={language}
    />
  )
}

/** Mails a new link. The groups of the invitation stay. */
const SendAgainDialog = ({ email, ...dialog }: DialogProps & { email: string }) => {
  const { invite } = useWords('admin')
  return (
    <ChangeDialog
      {...dialog}
      title={fill(invite.againTitle, { email })}
      lead={invite.againLead}
      userNotice={invite.told}
      submitLabel={invite.submit}
      call={({ language = '' }) => calls.invite({ email, ...(isLanguage(language) && { language }) })}
      successMessage={() => fill(invite.done, { email })}
    >
      <LanguageField />
    </ChangeDialog>
  )
}
