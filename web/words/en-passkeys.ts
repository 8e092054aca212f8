export const passkeys = {
  passkeys: {
    title: 'Passkeys',
    lead: 'Sign in with your fingerprint, your face or the PIN of your device, without a password and without a code.',
    use: 'Use a passkey',
    add: 'Add a passkey',
    added: 'The passkey was added: {name}.',
    noneAdded: 'No passkey was added. Try again, or choose an app.',
    noneChosen: 'No passkey was used. If this device has none for this site, use another way.',
    exists: 'This device has a passkey for your account already.',
    wrongAddress: 'Passkeys do not work at this address, because it is not the one that this site is set up for.',
    numericAddress:
      'Passkeys need a name in the address. They do not work at an address of numbers: use localhost instead.',
    unsupported: 'This browser does not support passkeys.',
    otherBrowser:
      'Your account needs a passkey here, and this browser does not support passkeys. Please use another browser.',
    confirmHeading: 'Confirm with your passkey',
    confirmLead: 'Your account asks for your passkey as the second step.',
    created: 'Added {date}',
    used: 'last used {date}',
    neverUsed: 'not used yet',
    synced: 'synced between devices',
    name: 'Name',
    rename: 'Rename',
    renameOf: 'Rename {name}',
    save: 'Save',
    remove: 'Remove',
    removeOf: 'Remove {name}',
    removeSure: 'Yes, remove',
    removed: 'The passkey was removed. Other devices are signed out.',
    needed:
      'Every account needs a second step here. To remove this passkey, add another one or an authenticator app first.',
  },
}
