document.title="Saihai";
